import { expect, test } from 'bun:test'
import { createRegistry } from '../../../src/platform/metrics/registry.ts'
import { createRecorder, type Recorder } from '../../../src/platform/metrics/snapshots.ts'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { signInOperator } from '../../support/operator.ts'
import { until } from '../../support/until.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const NOON = Date.UTC(2026, 9, 1, 12)
/** There are four buckets per doubling, and a quantile is the upper limit of its bucket. */
const MAX_ERROR = 2 ** (1 / 4)

test('p50 and p99 of known times are at most 19% too high', async () => {
  await using app = await startAt(NOON)
  const recorder = startRecorder(app)
  for (let ms = 1; ms <= 1_000; ms++) {
    recorder.observe('GET /even', { value: ms, failure: null })
    recorder.observe('GET /skewed', { value: ms <= 985 ? 5 : 800, failure: null })
  }
  await nextMinute(app, recorder)
  const { figures } = await recorder.tallies.list(1)
  for (const [name, p50, p99] of [
    ['GET /even', 500, 990],
    ['GET /skewed', 5, 800],
  ] as const) {
    const found = figures.find((one) => one.name === name)
    expect(found?.p50).toBeWithin(p50, p50 * MAX_ERROR + 0.01)
    expect(found?.p99).toBeWithin(p99, p99 * MAX_ERROR + 0.01)
  }
})

test('adds up minutes, instances and restarts within the same five minutes', async () => {
  await using app = await startAt(NOON)
  const [one, other] = [startRecorder(app, 'one'), startRecorder(app, 'other')]
  one.observe('GET /a', { value: 5, failure: null })
  other.observe('GET /a', { value: 5, failure: 'hard' })
  await nextMinute(app, one)
  await other.flush()
  const restarted = startRecorder(app, 'one')
  restarted.observe('GET /a', { value: 5, failure: 'soft' })
  await nextMinute(app, restarted)
  for (const hours of [1, 24]) {
    const { figures } = await restarted.tallies.list(hours)
    expect(figures).toMatchObject([{ name: 'GET /a', count: 3, soft: 1, hard: 1 }])
  }
  expect(await countTallyRows(app)).toBe(4)
})

test('lists only the requests from the chosen time span', async () => {
  await using app = await startAt(NOON)
  const recorder = startRecorder(app)
  const namesOf = async (hours: number) =>
    (await recorder.tallies.list(hours)).figures.map(({ name }) => name).toSorted()
  for (const [name, pause] of [
    ['8 days ago', DAY],
    ['7 days ago', 6 * DAY - MINUTE],
    ['a day ago', DAY - 2 * HOUR],
    ['2 hours ago', 2 * HOUR],
  ] as const) {
    recorder.observe(name, { value: 5, failure: null })
    await nextMinute(app, recorder)
    app.clock.advance(pause)
  }
  expect(await namesOf(1)).toEqual([])
  expect(await namesOf(24)).toEqual(['2 hours ago', 'a day ago'])
  expect(await namesOf(168)).toEqual(['2 hours ago', '7 days ago', 'a day ago'])
  expect(await namesOf(720)).toHaveLength(4)
})

test('a chart has the values of each step, and of the day and the week before', async () => {
  await using app = await startAt(NOON)
  const recorder = startRecorder(app)
  for (const [times, pause] of [
    [2, 6 * DAY],
    [3, DAY],
    [4, 0],
  ] as const) {
    for (let at = 0; at < times * 5; at++)
      recorder.observe('GET /a', { value: times, failure: at === 0 ? 'hard' : null })
    for (let minute = 0; minute < 5; minute++) await nextMinute(app, recorder)
    app.clock.advance(pause - (pause === 0 ? 0 : 5 * MINUTE))
  }
  const { from, stepMs, current, earlier } = await recorder.charts.endpoint('GET /a', {
    hours: 1,
    earlier: ['day', 'week'],
  })
  const step = (7 * DAY + NOON - from) / stepMs
  expect(stepMs).toBe(5 * MINUTE)
  expect(current.filter((point) => point !== null)).toHaveLength(1)
  expect(current[step]).toMatchObject({ requests: 4, errors: 0.2, refused: 0 })
  expect(earlier.day?.[step]).toMatchObject({ requests: 3 })
  expect(earlier.week?.[step]).toMatchObject({ requests: 2 })
  expect(current[step]?.p99).toBeWithin(4, 4 * MAX_ERROR)
})

test('counts a flood of unknown paths and methods as one row, in agreement with /metrics', async () => {
  await using app = await createTestApp({ METRICS_TOKEN: 'metrics-token' })
  for (let at = 0; at < 300; at++) {
    const method = ['GET', 'POST', 'DELETE', 'BREW'][at % 4] ?? ''
    await app.ask(method, `/flood/${at}?secret=${at}`)
  }
  for (let at = 0; at < 20; at++) await app.ask('GET', '/api/user/faqs/v1')
  await app.ask('GET', '/api/user/profile/v1')
  await untilCounted(app, 321)
  const { text } = await app.ask('GET', '/metrics', { token: 'metrics-token' })
  await app.services.recorder.flush()
  const { figures } = await app.services.recorder.tallies.list(1)
  const shown = figures.filter(({ name }) => !name.endsWith('/metrics'))
  expect(shown.map(({ name, count, soft }) => [name, count, soft]).toSorted()).toEqual([
    ['GET /api/user/faqs/v1', 20, 0],
    ['GET /api/user/profile/v1', 1, 1],
    ['none', 300, 300],
  ])
  const exported = [
    ...text.matchAll(/duration_seconds_count\{.*route="([^"]+)",status="\d+".*\} (\d+)/g),
  ]
  const counts: Record<string, number> = {}
  for (const [, route = '', count] of exported) counts[route] = (counts[route] ?? 0) + Number(count)
  for (const { name, count } of shown) expect(counts[name.split(' ').at(-1) ?? '']).toBe(count)
})

test('the history of an endpoint survives a restart', async () => {
  await using app = await startAt(NOON)
  await app.ask('GET', '/api/user/faqs/v1')
  await untilCounted(app, 1)
  await app.restart()
  app.clock.advance(MINUTE)
  await app.ask('GET', '/api/user/faqs/v1')
  await untilCounted(app, 2)
  const ann = await signInOperator(app)
  const { endpoints } = await ann.read('metrics/endpoints?hours=1')
  expect(endpoints).toMatchObject([{ name: 'GET /api/user/faqs/v1', count: 2, refused: 0 }])
})

test('an endpoint can be the slowest only after ten requests', async () => {
  await using app = await startAt(NOON)
  const ann = await signInOperator(app)
  const name = 'GET /api/user/faqs/v1'
  const route = '/api/user/faqs/v1'
  const slowestAt = async (count: number) => {
    await app.logged({ route }, count)
    await app.services.recorder.flush()
    return (await ann.read('metrics/endpoints?hours=1')).slowest
  }
  for (let asked = 0; asked < 9; asked++) await app.ask('GET', route)
  expect(await slowestAt(9)).toBeNull()
  await app.ask('GET', route)
  expect(await slowestAt(10)).toMatchObject({ name })
})

test('lists the starts of the server with the version that ran before', async () => {
  await using app = await startAt(NOON)
  for (const version of ['1.0.0', '1.0.0', '1.1.0']) {
    const recorder = startRecorder(app, '', version, app.clock.now)
    await nextMinute(app, recorder)
    await nextMinute(app, recorder)
  }
  const { charts } = startRecorder(app)
  expect(await charts.starts(1)).toMatchObject([
    { at: new Date(NOON).toISOString(), version: '1.0.0', before: null },
    { version: '1.0.0', before: null },
    { at: new Date(NOON + 4 * MINUTE).toISOString(), version: '1.1.0', before: '1.0.0' },
  ])
})

async function startAt(time: number): Promise<TestApp> {
  const app = await createTestApp()
  app.clock.now = new Date(time)
  return app
}

function startRecorder(
  { services, clock }: TestApp,
  instance = '',
  version = '1.0.0',
  servingSince: Date | null = null,
) {
  const registry = createRegistry()
  const recorder = createRecorder({
    db: services.db,
    registry,
    eventRoute: '/events',
    countWrites: () => 0,
    instance,
    version,
    servingSince,
    now: () => clock.now,
  })
  return { ...recorder, observe: registry.observe }
}

async function nextMinute({ clock }: TestApp, recorder: Pick<Recorder, 'flush'>) {
  clock.advance(MINUTE)
  await recorder.flush()
}

/** Requests are counted shortly after their response. */
async function untilCounted({ services: { recorder } }: TestApp, count: number) {
  const areCounted = async () => {
    await recorder.flush()
    const { figures } = await recorder.tallies.list(1)
    return figures.reduce((sum, one) => sum + one.count, 0) >= count
  }
  await until(areCounted, `not ${count} requests are counted`)
}

async function countTallyRows({ services: { db } }: TestApp): Promise<number> {
  const rows = await db.read.select().from(db.tables.samples)
  return rows.filter(({ span }) => span.startsWith('tallies')).length
}
