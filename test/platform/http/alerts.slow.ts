import { afterAll, expect, test } from 'bun:test'
import { readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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
  const text = await metricsOf(app)
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
    const scrapes = [await metricsOf(app)]
    for (const _retry of RETRIES) {
      await app.ask('POST', WEBHOOK, { token: 'wrong', json: { event: { type: 'TEST' } } })
      scrapes.push(await metricsOf(app, 'unauthenticated', scrapes.length))
    }
    // An hour of quiet, then the retries, then five hours of quiet.
    const attemptsByMinute = Array.from(
      { length: 60 + 155 + 300 },
      (_, minute) => RETRIES.filter((retry) => retry + 60 <= minute).length,
    )
    const series = ['homeport_billing_deliveries_total', 'homeport_http_replies_total'].flatMap(
      (name) =>
        seriesOf(
          name,
          attemptsByMinute.map((count) => scrapes[count] ?? ''),
        ),
    )
    const firing = [...RETRIES.map((retry) => 62 + retry), 60 + 155 + 60]
    const quiet = [59, 60 + 155 + 125]
    const minutes = [...firing, ...quiet]
    expect(
      firingOf([{ name: 'refused', alert: 'HomeportBillingRefused', series, minutes }]),
    ).toEqual(firing.map((minute) => `refused ${minute}`))
  },
)

withPromtool('accepted deliveries raise no alert (needs promtool)', async () => {
  await using app = await createTestApp({ METRICS_TOKEN: 'metrics-token' })
  const before = await metricsOf(app)
  const json = { event: { id: 'E1', type: 'TEST' } }
  for (const _again of [1, 2]) await app.ask('POST', WEBHOOK, { token: WEBHOOK_TOKEN, json })
  const after = await metricsOf(app, 'duplicate', 1)
  const scrapes = Array.from({ length: 60 }, (_, minute) => (minute < 10 ? before : after))
  const series = seriesOf('homeport_billing_deliveries_total', scrapes)
  expect(
    firingOf([{ name: 'taken', alert: 'HomeportBillingRefused', series, minutes: [30] }]),
  ).toEqual([])
})

/** For each of the other alerts, series that raise it and series that do not. */
const others: [alert: string, bad: Record<string, string>, good: Record<string, string>][] = [
  ['HomeportDown', { 'up{job="homeport"}': '0x120' }, { 'up{job="homeport"}': '1x120' }],
  ['HomeportNotReady', component('storage', 0), component('storage', 1)],
  ['HomeportComponentFailing', component('imageWorker', 0), component('imageWorker', 1)],
  ['HomeportComponentFailing', component('certificate', 0), component('rates', 0)],
  ['HomeportBackupFailing', component('backup', 0), component('backup', 1)],
  // promtool's clock starts at 0.
  [
    'HomeportCertificateExpires',
    gauge('certificate_expiry_timestamp_seconds', 600_000),
    gauge('certificate_expiry_timestamp_seconds', 900_000),
  ],
  ['HomeportInodesLow', gauge('disk_free_inodes', 9_000), gauge('disk_free_inodes', 90_000)],
  ['HomeportFilesUndeletable', gauge('files_undeletable', 1), gauge('files_undeletable', 0)],
  ['HomeportDiskLow', gauge('disk_free_bytes', 5e8), gauge('disk_free_bytes', 5e9)],
  ['HomeportVersionsDiffer', { ...build('0.1.0'), ...build('0.2.0') }, build('0.1.0')],
  ['HomeportErrors', replies('0+1x120', '0+50x120'), replies('0x120', '0+50x120')],
  ['HomeportErrors', replies('0+1x120', '0+50x120'), replies('0x120', '0x120')],
  ['HomeportSlow', durations('0x120'), durations('0+60x120')],
  ['HomeportSignInsRefused', denials('0+90x120'), denials('0+30x120')],
  ['HomeportClockDiffers', gauge('clock_skew_seconds', -1_137), gauge('clock_skew_seconds', 2)],
  ['HomeportMailsWaiting', gauge('mails_waiting', 1), gauge('mails_waiting', 0)],
  [
    'HomeportWebhooksLate',
    gauge('webhook_queue_age_seconds', 600),
    gauge('webhook_queue_age_seconds', 60),
  ],
  [
    'HomeportWebhookDisabled',
    gauge('webhook_endpoints_failed', 1),
    gauge('webhook_endpoints_failed', 0),
  ],
  ['HomeportWebhooksFailing', webhooks('0x120', '0+1x120'), webhooks('0+1x120', '0+5x120')],
  ['HomeportWebhooksFailing', webhooks('0x120', '0+1x120'), webhooks('0x120', '0x120')],
  [
    'HomeportBillingEventsFailed',
    gauge('billing_events_failed', 1),
    gauge('billing_events_failed', 0),
  ],
  [
    'HomeportPaidWithoutAccess',
    gauge('billing_products_unlocking_nothing', 1),
    gauge('billing_products_unlocking_nothing', 0),
  ],
  [
    'HomeportPlayRefused',
    { 'homeport_play_deliveries_total{code="unauthenticated"}': '0+1x120' },
    { 'homeport_play_deliveries_total{code="ok"}': '0+1x120' },
  ],
  [
    'HomeportAppStoreRefused',
    { 'homeport_app_store_deliveries_total{code="forbidden"}': '0+1x120' },
    { 'homeport_app_store_deliveries_total{code="ok"}': '0+1x120' },
  ],
  [
    'HomeportAppStoreSilent',
    gauge('app_store_notification_age_seconds', 260_000),
    gauge('app_store_notification_age_seconds', 250_000),
  ],
  [
    'HomeportAppStoreHistoryOld',
    gauge('app_store_history_lag_seconds', 22_000),
    gauge('app_store_history_lag_seconds', 21_000),
  ],
  [
    'HomeportAppStoreKeyRefused',
    gauge('app_store_key_refused', 1),
    gauge('app_store_key_refused', 0),
  ],
  [
    'HomeportPlayAccountRefused',
    gauge('play_account_refused', 1),
    gauge('play_account_refused', 0),
  ],
  [
    'HomeportPlayUnacknowledged',
    gauge('play_unacknowledged_age_seconds', 87_000),
    gauge('play_unacknowledged_age_seconds', 86_000),
  ],
  [
    'HomeportPlayRefundsSoon',
    gauge('play_unacknowledged_age_seconds', 173_000),
    gauge('play_unacknowledged_age_seconds', 172_000),
  ],
  [
    'HomeportPlaySilent',
    gauge('play_notification_age_seconds', 260_000),
    gauge('play_notification_age_seconds', 250_000),
  ],
  [
    'HomeportPlayQueueLong',
    gauge('play_purchases_waiting', 1_001),
    gauge('play_purchases_waiting', 1_000),
  ],
  [
    'HomeportStripeRefused',
    { 'homeport_stripe_deliveries_total{code="unauthenticated"}': '0+1x120' },
    { 'homeport_stripe_deliveries_total{code="ok"}': '0+1x120' },
  ],
  ['HomeportStripeKeyRefused', gauge('stripe_key_refused', 1), gauge('stripe_key_refused', 0)],
  [
    'HomeportStripeEventsOld',
    gauge('stripe_events_lag_seconds', 22_000),
    gauge('stripe_events_lag_seconds', 21_000),
  ],
  ['HomeportStripeQueueLong', gauge('stripe_waiting', 1_001), gauge('stripe_waiting', 1_000)],
  [
    'HomeportStripeDeletionWaiting',
    gauge('stripe_deletions_waiting', 1),
    gauge('stripe_deletions_waiting', 0),
  ],
  [
    'HomeportStripePriceDiffers',
    gauge('stripe_price_problems', 1),
    gauge('stripe_price_problems', 0),
  ],
  ['HomeportRatesOld', gauge('rates_age_seconds', 6e5), gauge('rates_age_seconds', 5e5)],
  ['HomeportBackupOld', {}, gauge('backup_age_seconds', 1e5)],
]

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
  expect(firingOf(cases, '5m').toSorted()).toEqual(bad.map(({ name }) => `${name} 110`).toSorted())
})

test('a test exists for every alert', async () => {
  const names = (await Bun.file(RULES).text()).matchAll(/- alert: (\w+)/g)
  const tested = new Set(['HomeportBillingRefused', ...others.map(([alert]) => alert)])
  expect([...names].map(([, name = '']) => name).filter((name) => !tested.has(name))).toEqual([])
})

function component(name: string, value: number): Record<string, string> {
  return { [`homeport_component_up{component="${name}"}`]: `${value}x120` }
}

function gauge(name: string, value: number): Record<string, string> {
  return { [`homeport_${name}`]: `${value}x120` }
}

function build(version: string): Record<string, string> {
  return { [`homeport_build_info{version="${version}"}`]: '1x120' }
}

function webhooks(delivered: string, refused: string): Record<string, string> {
  const name = 'homeport_webhook_attempts_total'
  return { [`${name}{outcome="delivered"}`]: delivered, [`${name}{outcome="refused"}`]: refused }
}

function replies(bad: string, good: string): Record<string, string> {
  const name = 'homeport_http_replies_total'
  return { [`${name}{class="5xx"}`]: bad, [`${name}{class="2xx"}`]: good }
}

function durations(fast: string): Record<string, string> {
  const name = 'homeport_http_request_duration_seconds'
  const route = 'route="/api/user/profile/v1"'
  return { [`${name}_bucket{${route},le="0.5"}`]: fast, [`${name}_count{${route}}`]: '0+60x120' }
}

function denials(wrong: string): Record<string, string> {
  return { 'homeport_denials_total{reason="wrong_password"}': wrong }
}

/** Returns the text of `/metrics` once it has counted `count` deliveries with `code`. */
async function metricsOf(app: TestApp, code = '', count = 0): Promise<string> {
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
function seriesOf(name: string, scrapes: string[]): Series[] {
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
function firingOf(cases: Case[], evaluation_interval = '1m'): string[] {
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
