import { expect, test } from 'bun:test'
import { t } from 'elysia'
import { form } from '../../../src/platform/http/body/body.ts'
import { createTestApp } from '../../support/app.ts'
import { expectFailure } from '../../support/failure.ts'

const EXTRA = 'utm_source=mail&fbclid=IwAR0&mc_eid=a1b2&_=1&t=2&t=3'
const TRACKED_PAGES = [
  '/auth/verify',
  '/auth/reset',
  '/auth/cancel',
  '/account/delete',
  '/',
  '/docs',
]
const PUBLIC_READS = [
  '/api/user/app_settings/v1',
  '/api/user/pricing_plans/v1',
  '/api/user/currency_rates/v1',
  '/api/user/content_version/v1',
  '/api/user/faqs/v1',
  '/.well-known/jwks.json',
  '/docs/json',
  '/health',
  '/ready',
]

test('pages and public reads ignore parameters that mail and ad services add', async () => {
  await using app = await createTestApp()
  for (const path of [...TRACKED_PAGES, ...PUBLIC_READS]) {
    const headers = { accept: path.startsWith('/api/') ? '*/*' : 'text/html' }
    const plain = await app.ask('GET', path, { headers })
    const tracked = await app.ask('GET', `${path}?${EXTRA}`, { headers })
    expect([path, tracked.status]).toEqual([path, plain.status])
    expect(tracked.headers.get('content-type')).toBe(plain.headers.get('content-type'))
  }
})

test('no route that is open to everyone refuses unknown parameters', async () => {
  await using app = await createTestApp()
  const open = app.app.routes.filter(({ method, path, hooks }) => {
    const isOpen = hooks.detail?.security === undefined && !/^\/(console|api\/server)\//.test(path)
    return method === 'GET' && isOpen && hooks.query !== undefined
  })
  expect(open.map(({ path }) => path)).toContain('/files/:key')
  for (const { path, hooks } of open)
    expect([path, hooks.query.additionalProperties]).toEqual([path, true])
})

test('routes for signed-in users refuse unknown parameters', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register('ann@example.com')
  expectFailure(await app.ask('GET', '/api/user/attachments/v1?utm_source=x', { token }), 422)
})

test('errors on pages are pages, in the language of the browser', async () => {
  await using app = await createTestApp()
  const german = { 'accept-language': 'de' }
  const body = 'x'.repeat(8_000)
  for (const [method, path, status, options] of [
    ['GET', '/auth/verify?token=a&token=b', 422, {}],
    ['GET', `/auth/verify?token=${'a'.repeat(5_000)}`, 401, {}],
    ['PUT', '/auth/reset', 405, {}],
    ['GET', '/auth/unknown', 404, {}],
    ['POST', '/auth/reset', 413, { body }],
    ['POST', '/account/delete', 413, { body }],
    ['GET', '/auth/verify', 400, { headers: { env: 'two words' } }],
    ['GET', '/nowhere', 404, { headers: { accept: 'text/html,*/*;q=0.8' } }],
    ['GET', '/files/unknown', 404, { headers: { accept: 'text/html' } }],
  ] as const) {
    const headers = { ...german, ...('headers' in options ? options.headers : {}) }
    const reply = await app.ask(method, path, { ...options, headers })
    expect([path, reply.status]).toEqual([path, status])
    expect([path, reply.headers.get('content-type')]).toEqual([path, 'text/html; charset=utf-8'])
    expect(reply.text).toStartWith('<!doctype html>')
    expect(reply.headers.get('x-request-id')).toBeTruthy()
  }
  expect((await app.ask('GET', '/auth/unknown', { headers: german })).text).toContain(
    'Nicht gefunden.',
  )
})

test('errors of the API stay JSON, even in a browser', async () => {
  await using app = await createTestApp()
  const headers = { accept: 'text/html' }
  expectFailure(await app.ask('GET', '/api/user/profile/v1', { headers }), 401)
  expectFailure(await app.ask('GET', '/api/nowhere', { headers }), 404)
  expectFailure(await app.ask('GET', '/nowhere'), 404)
})

test('refuses a declared parameter that is sent twice', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register('ann@example.com')
  for (const [method, path, name] of [
    ['POST', '/api/user/attachments/v1?type=supportTicket&type=publicAsset', 'type'],
    ['POST', '/api/user/attachments/v1?type=supportTicket&t%79pe=publicAsset', 'type'],
    ['GET', '/api/user/attachments/v1?limit=1&limit=1', 'limit'],
    ['DELETE', '/api/user/attachments/v1?key=a&key=b', 'key'],
    ['DELETE', '/api/auth/sessions/v1?id=others&id=others', 'id'],
    ['GET', '/api/user/faqs/v1?lang=de&lang=en', 'lang'],
    ['HEAD', '/api/user/faqs/v1?lang=de&lang=en', null],
    ['GET', '/files/unknown?width=64&width=128', 'width'],
  ] as const) {
    const reply = await app.ask(method, path, { token })
    expect([path, reply.status]).toEqual([path, 422])
    if (name !== null) expect(reply.json.details[0].path).toBe(name)
  }
})

test('reveals nothing about the parameters of a route to an anonymous client', async () => {
  await using app = await createTestApp()
  expectFailure(await app.ask('GET', '/api/user/attachments/v1?limit=1&limit=2'), 401)
})

test('refuses a form with a field that is sent twice', () => {
  const [parse] = form(t.Object({})).parse
  const request = new Request('http://localhost/', {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'token=a&token=b',
  })
  expect(parse?.({ request })).rejects.toThrow('The form contains a field twice.')
})
