import { afterAll, expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { others } from '../../support/alert-cases.ts'
import { createTestApp, type TestApp, WEBHOOK_TOKEN } from '../../support/app.ts'
import { isFeatureLeftOut } from '../../support/left-out.ts'
import { until } from '../../support/until.ts'

const RULES = join(import.meta.dir, '..', '..', '..', 'docs', 'monitoring', 'alerts.yml')
const PROMTOOL = Bun.which('promtool')
const WEBHOOK = '/api/webhooks/billing/v1'
/** The times of a delivery and its retries, in minutes after the first attempt. */
const RETRIES = [0, 5, 15, 35, 75, 155]

const withPromtool = test.skipIf(PROMTOOL === null)
const folder = await mkdtemp(join(tmpdir(), 'homeport-alerts-'))
afterAll(() => rm(folder, { recursive: true }))

/** The samples of one series, one per minute, in promtool's notation: `0x5` is six zeros. */
type Series = { series: string; values: string }

test('right after startup, exports every metric that an alert uses', async () => {
  await using app = await createTestApp({ METRICS_TOKEN: 'metrics-token', RATES_PROVIDER: 'ecb' })
  const names = new Set((await Bun.file(RULES).text()).match(/homeport_\w+/g))
  const text = await readMetrics(app)
  const missing = [...names].filter(
    (name) => !text.includes(`# TYPE ${name.replace(/_(count|bucket)$/, '')} `),
  )
  expect(missing).toEqual([])
  expect(text).toMatch(/^homeport_build_info\{version="0\.[^"]+".*\} 1$/m)
  expect(Number(/^homeport_disk_free_inodes\S* (\S+)$/m.exec(text)?.[1] ?? 1)).toBeGreaterThan(0)
})

withPromtool(
  'a refused delivery keeps raising an alert until two hours after its last retry (needs promtool)',
  async () => {
    await using app = await createTestApp({ METRICS_TOKEN: 'metrics-token' })
    const scrapes = [await readMetrics(app)]
    for (const _retry of RETRIES) {
      await app.ask('POST', WEBHOOK, { token: 'wrong', json: { event: { type: 'TEST' } } })
      scrapes.push(await readMetrics(app, 'unauthenticated', scrapes.length))
    }
    // An hour of quiet, then the retries, then five hours of quiet.
    const attemptsByMinute = Array.from(
      { length: 60 + 155 + 300 },
      (_, minute) => RETRIES.filter((retry) => retry + 60 <= minute).length,
    )
    const series = ['homeport_billing_deliveries_total', 'homeport_http_replies_total'].flatMap(
      (name) =>
        toSeries(
          name,
          attemptsByMinute.map((count) => scrapes[count] ?? ''),
        ),
    )
    const firing = [...RETRIES.map((retry) => 62 + retry), 60 + 155 + 60]
    const quiet = [59, 60 + 155 + 125]
    const minutes = [...firing, ...quiet]
    expect(
      listFiring([{ name: 'refused', alert: 'HomeportBillingRefused', series, minutes }]),
    ).toEqual(firing.map((minute) => `refused ${minute}`))
  },
)

withPromtool('accepted deliveries raise no alert (needs promtool)', async () => {
  await using app = await createTestApp({ METRICS_TOKEN: 'metrics-token' })
  const before = await readMetrics(app)
  const json = { event: { id: 'E1', type: 'TEST' } }
  for (const _again of [1, 2]) await app.ask('POST', WEBHOOK, { token: WEBHOOK_TOKEN, json })
  const after = await readMetrics(app, 'duplicate', 1)
  const scrapes = Array.from({ length: 60 }, (_, minute) => (minute < 10 ? before : after))
  const series = toSeries('homeport_billing_deliveries_total', scrapes)
  expect(
    listFiring([{ name: 'taken', alert: 'HomeportBillingRefused', series, minutes: [30] }]),
  ).toEqual([])
})

withPromtool('each of the other alerts is raised only by its own cause (needs promtool)', () => {
  const rules = readFileSync(RULES, 'utf8')
  const known = others.filter(([alert]) => !isFeatureLeftOut || rules.includes(`: ${alert}\n`))
  const cases = known.flatMap(([alert, bad, good], at) =>
    [bad, good].map((samples, isGood) => ({
      name: `${at} ${alert} ${isGood ? 'good' : 'bad'}`,
      alert,
      series: Object.entries(samples).map(([series, values]) => ({ series, values })),
      minutes: [110],
    })),
  )
  const bad = cases.filter(({ name }) => name.endsWith('bad'))
  const expected = bad.map(({ name }) => `${name} 110`)
  expect(listFiring(cases, '5m').toSorted()).toEqual(expected.toSorted())
})

test('a test exists for every alert', async () => {
  const names = (await Bun.file(RULES).text()).matchAll(/- alert: (\w+)/g)
  const tested = new Set(['HomeportBillingRefused', ...others.map(([alert]) => alert)])
  expect([...names].map(([, name = '']) => name).filter((name) => !tested.has(name))).toEqual([])
})

/** Returns the text of `/metrics` once it has counted `count` deliveries with `code`. */
async function readMetrics(app: TestApp, code = '', count = 0): Promise<string> {
  const counted = new RegExp(
    `^homeport_billing_deliveries_total\\{.*code="${code}".*\\} ${count}$`,
    'm',
  )
  const shown = async () => {
    const { text } = await app.ask('GET', '/metrics', { token: 'metrics-token' })
    return code === '' || counted.test(text) ? text : null
  }
  return until(shown, `/metrics does not show ${count} deliveries with ${code}`)
}

/** The series of a metric over scrapes of `/metrics`, one per minute; `_` before the first sample. */
function toSeries(name: string, scrapes: string[]): Series[] {
  const values = scrapes.map(
    (text) => new Map(text.split('\n').map((line) => line.split(/ (?=\S+$)/) as [string, string])),
  )
  const series = [...new Set(values.flatMap((one) => [...one.keys()]))]
  return series
    .filter((key) => key.startsWith(`${name}{`))
    .map((key) => ({ series: key, values: values.map((one) => one.get(key) ?? '_').join(' ') }))
}

type Case = { name: string; alert: string; series: Series[]; minutes: number[] }

/** Returns the case name and the minute of every alert that fires. */
function listFiring(cases: Case[], evaluation_interval = '1m'): string[] {
  const path = join(folder, `${crypto.randomUUID()}.json`)
  // When an alert fires, promtool reports that none was expected.
  const tests = cases.map(({ name, alert, series, minutes }) => ({
    name,
    interval: '1m',
    input_series: series,
    alert_rule_test: minutes.map((minute) => {
      return { eval_time: `${minute}m`, alertname: alert, exp_alerts: [] }
    }),
  }))
  writeFileSync(path, JSON.stringify({ rule_files: [RULES], evaluation_interval, tests }))
  const { exitCode, stdout, stderr } = Bun.spawnSync([PROMTOOL ?? '', 'test', 'rules', path])
  const output = `${stdout}${stderr}`
  const firing = output.matchAll(
    /name: (.*),\n\s*alertname: \w+, time: (?:(\d+)h)?(?:(\d+)m)?, *\n\s*exp:\[\]/g,
  )
  const found = [...firing].map(
    ([, name, hours = 0, rest = 0]) => `${name} ${Number(hours) * 60 + Number(rest)}`,
  )
  if (exitCode !== 0 && found.length === 0) throw new Error(output)
  return found
}
