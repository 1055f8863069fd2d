import { beforeAll, expect, test } from 'bun:test'
import { join } from 'node:path'
import { residentMemory } from '../bench/servers.ts'
import { WEBHOOK_TOKEN } from '../support/app.ts'
import { buildExecutable, installExecutable, type Server } from '../support/executable.ts'

beforeAll(buildExecutable, 300_000)

const WARM_UP = 20_000
const REQUESTS = 100_000
const CONCURRENCY = 32
/** The server releases memory after being idle for a while. */
const QUIET_MS = 45_000
/** A setting that differs by client; responses that contain one are cached by content. */
const GREETING = { value: 'hi', rules: [{ when: { percent: 50 }, value: 'hello' }] }

test.each([
  ['Accept-Language', (at: number) => ask('GET', '/nothing', { 'accept-language': tagOf(at) })],
  ['unknown path', (at: number) => ask('GET', `/nothing/${at}`, {})],
  ['lang', (at: number) => ask('GET', `/api/user/faqs/v1?lang=${tagOf(at)}`, {})],
  ['every header', (at: number) => ask('GET', '/api/user/app_settings/v1', headersOf(at))],
  ['access token', (at: number) => ask('GET', '/api/user/profile/v1', tokenOf(at))],
  ['file', (at: number) => ask('GET', `/files/${keyOf(at)}?width=64&v=${at}`, {})],
  ['account', (at: number) => ask('POST', '/api/auth/refresh/v1', {}, { refreshToken: keyOf(at) })],
  ['event', (at: number) => ask('POST', '/api/webhooks/billing/v1', webhook, eventOf(at))],
  ['sealed', (at: number) => ask('GET', `/nothing/${at}`, { env: `e${at}`, payload: keyOf(at) })],
] as const)(
  '100,000 distinct values leak no memory: %s',
  async (name, createRequest) => {
    await using homeport = await installExecutable()
    const server = await homeport.start({ RATE_LIMITS: 'off', LOG_LEVEL: 'warn' })
    await importSettings(homeport)
    await sendAll(server, WARM_UP, 0, createRequest)
    await Bun.sleep(QUIET_MS)
    const before = await residentMemory(server.process.pid)
    await sendAll(server, REQUESTS, WARM_UP, createRequest)
    const busy = await residentMemory(server.process.pid)
    await Bun.sleep(QUIET_MS)
    const after = await residentMemory(server.process.pid)
    const [from, peak, left] = [before, busy, after].map((bytes) => Math.round(bytes / 1e6))
    console.log(
      `${name}: ${from} MB before, ${peak} MB at the end, ${left} MB after a quiet period`,
    )
    expect(after - before).toBeLessThan(20e6)
    await server.stop()
  },
  600_000,
)

async function importSettings({ folder, run }: Awaited<ReturnType<typeof installExecutable>>) {
  const settings = JSON.parse((await run(['settings', 'export'])).stdout)
  const path = join(folder, 'settings.json')
  await Bun.write(path, JSON.stringify({ ...settings, features: { greeting: GREETING } }))
  expect((await run(['settings', 'import', path, '--yes'])).exitCode).toBe(0)
}

type TestRequest = { method: string; path: string; headers: Record<string, string>; body?: string }

const webhook = { authorization: `Bearer ${WEBHOOK_TOKEN}`, 'content-type': 'application/json' }

function ask(
  method: string,
  path: string,
  headers: Record<string, string>,
  json?: unknown,
): TestRequest {
  if (json === undefined) return { method, path, headers }
  const body = JSON.stringify(json)
  return { method, path, headers: { 'content-type': 'application/json', ...headers }, body }
}

async function sendAll(
  { url }: Server,
  count: number,
  first: number,
  createRequest: (at: number) => TestRequest,
) {
  let next = first
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async () => {
      while (next < first + count) {
        const { path, ...request } = createRequest(next++)
        await (await fetch(`${url}${path}`, request)).arrayBuffer()
      }
    }),
  )
}

function headersOf(at: number): Record<string, string> {
  const names = ['app-platform', 'country', 'cookie', 'device', 'device-id', 'idempotency-key']
  const more = [
    'if-none-match',
    'origin',
    'timezone',
    'user-agent',
    'x-forwarded-for',
    'x-request-id',
  ]
  return {
    ...Object.fromEntries([...names, ...more].map((name) => [name, `${name}-${at}`])),
    'accept-language': tagOf(at),
    'app-version': `${at}.0`,
  }
}

function tokenOf(at: number) {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  const token = `${part({ alg: 'ES256', typ: 'at+jwt', kid: `k${at}` })}.${part({ sub: `${at}` })}.${keyOf(at)}`
  return { authorization: `Bearer ${token}` }
}

function eventOf(at: number) {
  return {
    event: { id: `event-${at}`, type: `TYPE_${at}`, event_timestamp_ms: 1_783_000_000_000 + at },
  }
}

/** Well-formed language tags, such as `qkz-Abcd-AB`. */
function tagOf(at: number): string {
  const letter = (place: number) => String.fromCharCode(97 + (Math.floor(at / 26 ** place) % 26))
  return `${letter(0)}${letter(1)}${letter(2)}-${letter(3).toUpperCase()}bcd-AB`
}

function keyOf(at: number): string {
  return at.toString(36).padStart(26, '0')
}
