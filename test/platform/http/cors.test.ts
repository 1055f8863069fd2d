import { expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { fault } from '../../support/fault.ts'

const ORIGIN = 'https://app.example.com'
const PROFILE = '/api/user/profile/v1'
const SETTINGS = '/api/user/app_settings/v1'

test('a listed origin may send requests and read responses and errors', async () => {
  await using app = await createTestApp({ CORS_ORIGINS: `https://other.example.com,${ORIGIN}` })
  const asked = await preflight(app, ORIGIN)
  expect(asked.status).toBe(204)
  expect(asked.headers.get('access-control-allow-origin')).toBe(ORIGIN)
  expect(asked.headers.get('access-control-allow-methods')).toContain('PATCH')
  const allowed = asked.headers.get('access-control-allow-headers')?.toLowerCase().split(', ')
  for (const name of ['authorization', 'payload', 'env', 'device', 'timezone', 'idempotency-key']) {
    expect(allowed).toContain(name)
  }
  // Tools that trace requests add these in browsers.
  for (const name of ['sentry-trace', 'baggage', 'traceparent', 'tracestate'])
    expect(allowed).toContain(name)
  for (const [path, status] of [
    [SETTINGS, 200],
    [PROFILE, 401],
    ['/nowhere', 404],
  ] as const) {
    const reply = await app.ask('GET', path, { headers: { origin: ORIGIN } })
    expect([path, reply.status]).toEqual([path, status])
    expect(reply.headers.get('access-control-allow-origin')).toBe(ORIGIN)
    expect(reply.headers.get('access-control-expose-headers')).toContain('Retry-After')
    expect(reply.headers.get('access-control-allow-credentials')).toBeNull()
  }
})

test('other origins get no CORS headers, and Vary names Origin', async () => {
  await using app = await createTestApp({ CORS_ORIGINS: ORIGIN })
  for (const origin of [`${ORIGIN}.evil.example`, 'null', 'http://app.example.com', '*']) {
    expect((await preflight(app, origin)).status).toBe(405)
    const reply = await app.ask('GET', '/api/user/faqs/v1', { headers: { origin } })
    expect(reply.headers.get('access-control-allow-origin')).toBeNull()
    expect(reply.headers.get('vary')).toBe('Origin, Accept-Language')
  }
})

test('sends no CORS headers without configured origins', async () => {
  await using app = await createTestApp()
  const reply = await app.ask('GET', SETTINGS, { headers: { origin: ORIGIN } })
  expect(reply.headers.get('vary')).toBeNull()
  expect((await preflight(app, ORIGIN)).status).toBe(405)
})

test(`browsers can read sealed responses, even with sealing required ${fault(127)}`, async () => {
  const required = { CORS_ORIGINS: ORIGIN, PAYLOAD_ENCRYPTION: 'required' }
  await using app = await createTestApp(required, { mode: 'sealed' })
  expect((await preflight(app, ORIGIN)).status).toBe(204)
  const reply = await app.ask('GET', SETTINGS, { headers: { origin: ORIGIN } })
  expect(reply.headers.get('access-control-allow-origin')).toBe(ORIGIN)
  const refused = await app.ask('GET', SETTINGS, { headers: { origin: ORIGIN, env: 'test' } })
  expect(refused.status).toBe(403)
  expect(refused.headers.get('access-control-allow-origin')).toBe(ORIGIN)
})

test('logs each refused origin once, even after many others, and ignores malformed origins', async () => {
  await using app = await createTestApp({ CORS_ORIGINS: ORIGIN })
  for (let i = 0; i < 120; i++) await preflight(app, `https://invented-${i}.example`)
  const long = `https://${'a'.repeat(14_000)}.example`
  const native = 'tauri://localhost'
  for (const origin of [long, native, native, 'null', 'https://x\u009b31m', 'nonsense']) {
    await preflight(app, origin)
  }
  const logged = app.lines.flatMap((line) =>
    line.includes('"origin"') ? [JSON.parse(line).origin] : [],
  )
  expect(logged.slice(120)).toEqual([long.slice(0, 200), native])
})

test('allows the web views of apps, whose origin is not that of a website', async () => {
  const native = 'capacitor://localhost'
  await using app = await createTestApp({ CORS_ORIGINS: `${ORIGIN},${native}` })
  expect((await preflight(app, native)).headers.get('access-control-allow-origin')).toBe(native)
})

function preflight(app: TestApp, origin: string) {
  const headers = { origin, 'access-control-request-method': 'PATCH', env: 'test' }
  return app.ask('OPTIONS', PROFILE, { headers })
}
