import { describe, expect, test } from 'bun:test'
import { readSessionToken, sessionCookie } from '../../src/platform/http/console-cookie.ts'
import { createTestApp, type TestApp } from '../support/app.ts'
import { cookieIn, type OperatorBrowser, signInOperator } from '../support/operator.ts'

const PUBLIC = { host: 'api.example.com', origin: 'https://api.example.com' }
const LOOPBACK = ['localhost:3000', '127.0.0.1:3000', '[::1]:3000', 'console.localhost']
const FLAGS = 'HttpOnly; SameSite=Strict'

/** Headers of pages that are not plain http on the browser's own machine. */
const ELSEWHERE: [string, Record<string, string>][] = [
  ['a public host', { host: 'api.example.com' }],
  ['a name that begins like a loopback one', { host: 'localhost.example.com' }],
  ['a page over https', { host: 'localhost:3000', origin: 'https://localhost:3000' }],
  ['a page of another host', { host: 'localhost:3000', origin: 'https://api.example.com' }],
  ['a hidden origin', { host: 'localhost:3000', origin: 'null' }],
  ['a proxy', { host: 'localhost:3000', 'x-forwarded-for': '203.0.113.5' }],
]

describe('the session cookie', () => {
  test('is host-only, secure, same-site and hidden from scripts', async () => {
    await using app = await createTestApp()
    const ann = await signInOperator(app)
    const cookie = await signInAgain(app, ann, PUBLIC)
    expect(cookie.replace(/=[\w-]{43};/, '=TOKEN;')).toBe(
      `__Host-homeport-console=TOKEN; Path=/; Max-Age=604800; Secure; ${FLAGS}`,
    )
    const headers = { ...PUBLIC, cookie: cookieIn(cookie) }
    const out = await ann.ask('POST', 'me/sign-out', { headers })
    expect(out.headers.get('set-cookie')).toBe(
      `__Host-homeport-console=; Path=/; Max-Age=0; Secure; ${FLAGS}`,
    )
  })

  test.each(LOOPBACK)('has a form that Safari keeps on http://%s', async (host) => {
    await using app = await createTestApp()
    const ann = await signInOperator(app)
    const place = { host, origin: `http://${host}` }
    const cookie = await signInAgain(app, ann, place)
    expect(cookie.replace(/=[\w-]{43};/, '=TOKEN;')).toBe(
      `homeport-console=TOKEN; Path=/; Max-Age=604800; ${FLAGS}`,
    )
    const headers = { host, cookie: cookieIn(cookie) }
    expect((await ann.ask('GET', 'me', { headers })).status).toBe(200)
    const out = await ann.ask('POST', 'me/sign-out', { headers: { ...place, ...headers } })
    expect(out.headers.get('set-cookie')).toBe(
      [
        `homeport-console=; Path=/; Max-Age=0; ${FLAGS}`,
        `__Host-homeport-console=; Path=/; Max-Age=0; Secure; ${FLAGS}`,
      ].join(', '),
    )
  })

  test.each(ELSEWHERE)('is set and accepted only with a prefix for %s', async (_name, headers) => {
    await using app = await createTestApp()
    const { cookie } = await signInOperator(app)
    const session = cookie.split('=')[1]
    const ask = (name: string) =>
      app.ask('GET', '/console/api/me', { headers: { ...headers, cookie: `${name}=${session}` } })
    expect((await ask('homeport-console')).status).toBe(401)
    expect((await ask('__Host-homeport-console')).status).toBe(200)
    const set = await app.ask('POST', '/console/api/login/cookies', {
      json: {},
      headers: { 'sec-fetch-site': 'same-origin', ...headers },
    })
    expect(set.headers.get('set-cookie') ?? '__Host-').toStartWith('__Host-')
  })

  test('has its prefix over TLS, on loopback too', () => {
    const request = new Request('https://localhost:3000/', {
      headers: { cookie: 'homeport-console=a' },
    })
    expect(sessionCookie(request, 'b')).toStartWith('__Host-')
    expect(readSessionToken(request)).toBeNull()
    expect(readSessionToken(new Request('http://localhost:3000/', request))).toBe('a')
  })

  test('with the prefix is also accepted on loopback, for a proxy that sends that host', async () => {
    await using app = await createTestApp({ BASE_URL: PUBLIC.origin })
    const ann = await signInOperator(app)
    const cookie = await signInAgain(app, ann, { host: 'localhost:3000', origin: PUBLIC.origin })
    const headers = { host: 'localhost:3000', cookie: cookieIn(cookie) }
    expect((await ann.ask('GET', 'me', { headers })).status).toBe(200)
  })
})

test.each([
  ['https', PUBLIC, '__Host-homeport-console-test'],
  ['loopback', { host: 'localhost', origin: 'http://localhost' }, 'homeport-console-test'],
])('detects whether the browser has kept a cookie, on %s', async (_name, place, cookieName) => {
  await using app = await createTestApp()
  const ask = async (cookie: Record<string, string> = {}) => {
    const headers = { ...place, ...cookie }
    const reply = await app.ask('POST', '/console/api/login/cookies', { json: {}, headers })
    return { areKept: reply.json.response.areKept, cookie: reply.headers.get('set-cookie') }
  }
  const first = await ask()
  expect(first.areKept).toBe(false)
  const cookie = cookieIn(first.cookie)
  expect(cookie).toBe(`${cookieName}=1`)
  expect((await ask({ cookie })).areKept).toBe(true)
})

/** Returns the header that sets the cookie. */
async function signInAgain(app: TestApp, ann: OperatorBrowser, place: Record<string, string>) {
  const { name, password, recoveryCodes } = ann
  const { headers } = await app.ask('POST', '/console/api/login/sign-in', {
    json: { name, password, code: recoveryCodes[0] },
    headers: place,
  })
  return headers.get('set-cookie') ?? ''
}
