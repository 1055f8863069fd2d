import { expect, test } from 'bun:test'
import { createMetrics, gauge } from '../../../src/platform/metrics/metrics.ts'
import { createTestApp } from '../../support/app.ts'
import { serveApp } from '../../support/served.ts'

/** Headers that nginx, Caddy, HAProxy, Envoy, Traefik and the large CDNs add. */
const FORWARDING = [
  'Forwarded',
  'Via',
  'X-Forwarded-For',
  'X-Forwarded-Proto',
  'X-Forwarded-Host',
  'X-Forwarded',
  'X-Original-Forwarded-For',
  'X-Real-IP',
  'X-Client-IP',
  'X-Cluster-Client-IP',
  'X-ProxyUser-Ip',
  'X-Azure-ClientIP',
  'X-Envoy-External-Address',
  'X-Scheme',
  'True-Client-IP',
  'Client-IP',
  'CF-Connecting-IP',
  'CF-Ray',
  'CDN-Loop',
  'Fastly-Client-IP',
  'Fly-Client-IP',
  'DO-Connecting-IP',
  'X-Amzn-Trace-Id',
]

test('request metrics contain the route pattern and nothing about users', async () => {
  await using app = await createTestApp({ METRICS_TOKEN: 'metrics-token' })
  const { accessToken: token } = await app.register()
  await app.ask('GET', '/api/user/profile/v1', { token })
  await app.ask('GET', '/api/user/profile/v1', { token: 'token-of-nobody' })
  await app.ask('GET', '/files/abcdefghijklmnopqrstuvwxyz.webp')
  await app.ask('GET', '/no/such/path-of-mine')
  await app.logged({ route: 'none' })
  const text = await readMetrics(app)
  for (const labels of [
    'method="GET",route="/api/user/profile/v1",status="200",code="ok"',
    'method="GET",route="/api/user/profile/v1",status="401",code="unauthenticated"',
    'method="GET",route="none",status="404",code="not_found"',
  ]) {
    expect(text).toContain(`homeport_http_request_duration_seconds_count{${labels}} 1`)
  }
  expect(text).not.toMatch(/path-of-mine|abcdefghij|@|token-of-nobody/)
})

test('exports metrics of changes, e-mails, rates, backups and the process', async () => {
  const rates = { RATES_PROVIDER: 'ecb', RATES_URL: 'http://127.0.0.1:1' }
  await using app = await createTestApp({ METRICS_TOKEN: 'metrics-token', ...rates })
  const value = (text: string, name: string) =>
    Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
  const before = await readMetrics(app)
  await app.register()
  const text = await readMetrics(app)
  expect(value(text, 'homeport_db_changes_total')).toBeGreaterThan(
    value(before, 'homeport_db_changes_total'),
  )
  for (const name of ['homeport_rates_age_seconds', 'homeport_disk_free_bytes']) {
    expect(value(text, name)).toBeGreaterThan(0)
  }
  for (const name of ['homeport_mails_waiting', 'homeport_billing_events_failed']) {
    expect(value(text, name)).toBeGreaterThanOrEqual(0)
  }
  expect(value(text, 'process_resident_memory_bytes')).toBeGreaterThan(1e7)
  // Without a backup, there is no age to export.
  expect(text).not.toMatch(/^homeport_backup_age_seconds /m)
})

test('metrics require the token or, if none is configured, a request from this machine', async () => {
  await using closed = await createTestApp({ METRICS_TOKEN: 'metrics-token' })
  expect((await closed.ask('GET', '/metrics')).status).toBe(401)
  await using open = await createTestApp()
  expect((await open.ask('GET', '/metrics')).status).toBe(404)
})

test('refuses metrics to requests that a local proxy forwards', async () => {
  await using app = await createTestApp()
  await using served = serveApp(app)
  const prometheus = { 'x-prometheus-scrape-timeout-seconds': '10', 'user-agent': 'Prometheus' }
  for (const headers of [{}, prometheus, { traceparent: '00-0-0-00' }]) {
    expect([headers, (await served.ask('/metrics', headers)).status]).toEqual([headers, 200])
  }
  for (const name of FORWARDING) {
    const { status } = await served.ask('/metrics', { ...prometheus, [name]: '203.0.113.9' })
    expect([name, status]).toEqual([name, 404])
  }
})

async function readMetrics(app: Awaited<ReturnType<typeof createTestApp>>): Promise<string> {
  const reply = await app.ask('GET', '/metrics', { token: 'metrics-token' })
  expect(reply.status).toBe(200)
  // With several instances, each adds its name.
  const text = reply.text.replaceAll(/homeport_instance="[^"]*",?/g, '')
  return text.replaceAll(',}', '}').replaceAll('{}', '')
}

test('leaves out only metrics that cannot be read', async () => {
  const fail = async () => {
    throw new Error('the database is unavailable')
  }
  const metrics = createMetrics(
    { homeport_lost: gauge('Lost', fail), homeport_kept: gauge('Kept', () => 7) },
    {},
  )
  const { text } = await metrics.render()
  expect(text).toContain('homeport_kept 7\n')
  expect(text).not.toContain('homeport_lost')
})

test('quotes the values of labels, and adds the instance to each', async () => {
  const read = () => ({ 'a "b" \\ c': 1 })
  const metrics = { homeport_quoted: gauge('Quoted', read, 'of') }
  const { text } = await createMetrics(metrics, {}, 'one').render()
  expect(text).toContain('homeport_quoted{of="a \\"b\\" \\\\ c",homeport_instance="one"} 1\n')
})
