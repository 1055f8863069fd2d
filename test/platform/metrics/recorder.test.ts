import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { createRegistry, type Registry } from '../../../src/platform/metrics/registry.ts'
import type { Sample } from '../../../src/platform/metrics/schema.ts'
import { createRecorder, type Recorder } from '../../../src/platform/metrics/snapshots.ts'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { signInOperator } from '../../support/operator.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const NOON = Date.UTC(2026, 9, 1, 12)
/** The ratio of neighbouring bucket limits: there are four buckets per doubling. */
const BUCKET_RATIO = 2 ** (1 / 4)

test('a sample contains only the requests from its minute', async () => {
  await using app = await startAt(NOON)
  const { recorder, writes } = startRecorder(app)
  addRequests(recorder, 0.01, 200, 97)
  addRequests(recorder, 0.01, 404)
  addRequests(recorder, 1, 500)
  recorder.observeRequest({ method: 'POST', route: '/events', status: 200, code: 'ok' }, 1)
  writes.count += 7
  await nextMinute(app, recorder)
  addRequests(recorder, 0.001)
  await nextMinute(app, recorder)
  const [first, second] = await recorder.list(60)
  expect(first).toMatchObject({ at: iso(NOON), requests: 100, errors: 1, events: 1, writes: 7 })
  expect(first?.p50).toBeWithin(10, 10 * BUCKET_RATIO)
  expect(first?.p99).toBeWithin(1_000, 1_000 * BUCKET_RATIO)
  expect(first?.memory).toBeGreaterThan(1_000_000)
  expect(second).toMatchObject({ at: iso(NOON + MINUTE), requests: 1, errors: 0, writes: 0 })
  expect(second?.p99).toBeLessThan(2)
})

test('p50 and p99 are at most a fifth too high', async () => {
  await using app = await startAt(NOON)
  const { recorder } = startRecorder(app)
  const ms = fc.double({ min: 0.5, max: 600_000, noNaN: true })
  const property = fc.asyncProperty(
    fc.array(ms, { minLength: 1, maxLength: 300 }),
    async (list) => {
      for (const one of list) addRequests(recorder, one / 1_000)
      await nextMinute(app, recorder)
      const sample = (await recorder.list(60)).at(-1)
      const sorted = list.toSorted((a, b) => a - b)
      for (const [share, reported] of [
        [0.5, sample?.p50],
        [0.99, sample?.p99],
      ] as const) {
        const exact = sorted[Math.ceil(sorted.length * share) - 1] ?? 0
        expect(reported).toBeWithin(exact * 0.98, exact * BUCKET_RATIO * 1.01)
      }
    },
  )
  await fc.assert(property, { numRuns: 25 })
})

test('records the shortest and longest times, and 0 for a minute without requests', async () => {
  await using app = await startAt(NOON)
  const { recorder } = startRecorder(app)
  await nextMinute(app, recorder)
  addRequests(recorder, 0)
  await nextMinute(app, recorder)
  addRequests(recorder, 100 * 3_600)
  await nextMinute(app, recorder)
  const times = (await recorder.list(60)).map(({ p50 }) => p50)
  expect(times.slice(0, 2)).toEqual([0, 0.1])
  expect(times[2]).toBeGreaterThan(20 * MINUTE)
})

test('the quantiles of an hour are those of all its requests', async () => {
  await using app = await startAt(NOON)
  const { recorder, writes } = startRecorder(app)
  for (let minute = 0; minute < 60; minute++) {
    addRequests(recorder, minute === 30 ? 2 : 0.01, minute === 30 ? 500 : 200, 2)
    writes.count++
    await nextMinute(app, recorder)
  }
  addRequests(recorder, 0.01)
  await nextMinute(app, recorder)
  const [hour, ...others] = await listHours(recorder)
  expect(others).toEqual([])
  expect(hour).toMatchObject({ at: iso(NOON), requests: 2, errors: 0.033, writes: 1 })
  expect(hour?.p50).toBeWithin(10, 10 * BUCKET_RATIO)
  expect(hour?.p99).toBeWithin(2_000, 2_000 * BUCKET_RATIO)
})

test('the hour in which a longer outage began is stored after the outage', async () => {
  await using app = await startAt(NOON)
  const before = startRecorder(app).recorder
  for (let minute = 0; minute < 70; minute++) {
    addRequests(before, 0.01)
    await nextMinute(app, before)
  }
  app.clock.advance(2 * HOUR)
  const after = startRecorder(app).recorder
  await nextMinute(app, after)
  const times = (await listHours(after)).map(({ at }) => at)
  expect(times).toEqual([iso(NOON), iso(NOON + HOUR)])
})

test('the hour in which an instance was replaced includes its requests', async () => {
  await using app = await startAt(NOON)
  const former = startRecorder(app, 'former').recorder
  addRequests(former, 0.01)
  await nextMinute(app, former)
  const next = startRecorder(app, 'next').recorder
  app.clock.now = new Date(NOON + HOUR - MINUTE)
  addRequests(next, 0.01)
  await nextMinute(app, next)
  const rows = await app.services.db.read.select().from(app.services.db.tables.samples)
  const hours = rows.filter(({ span }) => span === 'hour')
  expect(hours.map(({ instance }) => instance).toSorted()).toEqual(['former', 'next'])
})

test('an hour stored by an earlier version keeps its own quantiles', async () => {
  await using app = await startAt(NOON)
  const { recorder } = startRecorder(app)
  const { db } = app.services
  const old = { requests: 60, errors: 6, p50: 3, p99: 40, events: 0, writes: 0, memory: 1 }
  const row = { span: 'hour', at: new Date(NOON - HOUR), instance: '', values: old }
  await db.write(async (tx) => {
    await tx.insert(db.tables.samples).values(row)
  })
  const [hour] = await listHours(recorder)
  expect(hour).toMatchObject({ requests: 1, errors: 0.1, p50: 3, p99: 40 })
})

test('keeps minutes for 9 days and hours for 38 days, to compare them with the week before', async () => {
  await using app = await startAt(NOON)
  const { recorder } = startRecorder(app)
  const { samples } = app.services.db.tables
  const kept = async () => {
    const rows = await app.services.db.read.select().from(samples)
    return rows.map(({ span, at }) => `${span} ${(at.getTime() - NOON) / HOUR}`).toSorted()
  }
  const endHour = async (days: number) => {
    app.clock.now = new Date(NOON + days * DAY + HOUR)
    addRequests(recorder, 0.01)
    await recorder.flush()
  }
  await endHour(0)
  const first = ['hour 0', `minute ${59 / 60}`, 'tallies 1h 0', `tallies 5m ${55 / 60}`]
  expect(await kept()).toEqual(first)
  await endHour(8.875)
  expect(await kept()).toEqual(expect.arrayContaining(first))
  await endHour(9)
  const isFirst = (row: string) => first.includes(row)
  expect((await kept()).filter(isFirst)).toEqual(['hour 0', 'tallies 1h 0'])
  await endHour(37.875)
  expect((await kept()).filter(isFirst)).toEqual(['hour 0', 'tallies 1h 0'])
  await endHour(38.125)
  expect((await kept()).filter(isFirst)).toEqual([])
})

test('adds up the samples of all instances, and a restart does not change them', async () => {
  await using app = await startAt(NOON)
  const [one, other] = [startRecorder(app, 'one').recorder, startRecorder(app, 'other').recorder]
  addRequests(one, 0.01, 200, 3)
  addRequests(other, 0.5, 503, 2)
  app.clock.advance(MINUTE)
  await one.flush()
  await other.flush()
  await startRecorder(app, 'one').recorder.flush()
  const [sample, ...rest] = await one.list(60)
  expect(rest).toEqual([])
  expect(sample).toMatchObject({ requests: 5, errors: 2 })
  expect(sample?.p99).toBeWithin(500, 500 * BUCKET_RATIO)
  const rows = await app.services.db.read.select().from(app.services.db.tables.samples)
  const minutes = rows.filter(({ span }) => span === 'minute')
  const memory = minutes.map(({ values }) => (values as Sample).memory)
  expect(minutes.map(({ instance }) => instance).toSorted()).toEqual(['one', 'other'])
  expect(sample?.memory).toBe(memory.reduce((sum, bytes) => sum + bytes, 0))
})

test('sums the stored samples of the last minutes', async () => {
  await using app = await startAt(NOON)
  const { recorder } = startRecorder(app)
  for (let minute = 0; minute < 15; minute++) {
    addRequests(recorder, 0.01, minute === 0 ? 500 : 200)
    await nextMinute(app, recorder)
  }
  addRequests(recorder, 0.01)
  const last = { minutes: 10, requests: 10, errors: 0, events: 0 }
  expect(await recorder.sumLastMinutes(10)).toEqual(last)
  expect(await recorder.sumLastMinutes(15)).toMatchObject({ requests: 15, errors: 1 })
})

test('counts every request and shows it in the console', async () => {
  await using app = await startAt(NOON)
  for (const path of ['/health', '/nowhere', '/api/user/faqs/v1']) await app.ask('GET', path)
  await app.logged({ route: '/api/user/faqs/v1' })
  const ann = await signInOperator(app)
  app.clock.advance(MINUTE)
  await app.services.recorder.flush()
  const { steps } = await ann.read('metrics')
  const minute = steps.current.at(-1)
  expect(steps.from + 59 * MINUTE).toBe(NOON)
  expect(minute).toMatchObject({ errors: 0, events: 0 })
  expect(minute.requests).toBeGreaterThanOrEqual(3)
  expect(minute.writes).toBeGreaterThan(0)
  expect((await ann.read('overview')).traffic.requests).toBe(minute.requests)
  for (const query of ['hours=0', 'hours=721', 'hours=all', 'day=yes', 'month=on']) {
    const { status } = await ann.ask('GET', `metrics?${query}`)
    expect([query, status]).toEqual([query, 422])
  }
})

async function startAt(time: number): Promise<TestApp> {
  const app = await createTestApp()
  app.clock.now = new Date(time)
  return app
}

function startRecorder({ services, clock }: TestApp, instance = '') {
  const writes = { count: 0 }
  const countWrites = () => writes.count
  const registry = createRegistry()
  const recorder = createRecorder({
    db: services.db,
    registry,
    eventRoute: '/events',
    countWrites,
    instance,
    version: '1.0.0',
    servingSince: null,
    now: () => clock.now,
  })
  return { recorder: { ...recorder, ...registry }, writes }
}

/** The hours of the last two days that have a sample. */
async function listHours({ charts }: Recorder) {
  const { from, stepMs, current } = await charts.traffic({ hours: 48, earlier: [] })
  return current.flatMap((point, step) =>
    point === null ? [] : [{ at: iso(from + step * stepMs), ...point }],
  )
}

function addRequests(
  { observeRequest }: Pick<Registry, 'observeRequest'>,
  seconds: number,
  status = 200,
  times = 1,
) {
  const labels = { method: 'GET', route: '/', status, code: '' }
  for (let at = 0; at < times; at++) observeRequest(labels, seconds)
}

/** Advances the clock by a minute and stores the sample of that minute. */
async function nextMinute({ clock }: TestApp, recorder: Recorder) {
  clock.advance(MINUTE)
  await recorder.flush()
}

function iso(time: number): string {
  return new Date(time).toISOString()
}

test('counts activity during a database outage in the next minute', async () => {
  await using app = await startAt(NOON)
  const { recorder } = startRecorder(app)
  addRequests(recorder, 0.01, 503, 5)
  const { db } = app.services
  const { write } = db
  db.write = () => Promise.reject(new Error('the disk is full'))
  await expect(nextMinute(app, recorder)).rejects.toThrow('the disk is full')
  db.write = write
  addRequests(recorder, 0.01)
  await nextMinute(app, recorder)
  expect(await recorder.sumLastMinutes(10)).toMatchObject({ requests: 6, errors: 5 })
  const { figures } = await recorder.tallies.list(1)
  expect(figures).toMatchObject([{ count: 6, hard: 5 }])
})
