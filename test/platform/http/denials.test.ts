import { expect, test } from 'bun:test'
import { signJwt } from '../../../src/lib/crypto/es256.ts'
import { createTestApp, PASSWORD, type TestApp, WEBHOOK_TOKEN } from '../../support/app.ts'

const PROFILE = '/api/user/profile/v1'
const MINUTE = 60_000

/** Re-signs `token` with our key after overriding some of its claims. */
function forge(app: TestApp, token: string, claims: Record<string, unknown>): string {
  const [, payload = ''] = token.split('.')
  const original = JSON.parse(Buffer.from(payload, 'base64url').toString())
  const { jwk } = app.services.signingKeys.current()
  return signJwt({ typ: 'at+jwt', kid: jwk.kid }, { ...original, ...claims }, jwk)
}

type Case = [reason: string, headersOf: (app: TestApp, token: string) => Record<string, string>]

const anonymous: Case[] = [
  ['missing', () => ({})],
  ['malformed', () => ({ authorization: 'Basic YTpi' })],
  ['malformed', () => bearer('not-a-token')],
  ['malformed', (app, token) => bearer(forge(app, token, { sid: 7 }))],
  ['forged', (_app, token) => bearer(`${token.slice(0, -8)}AAAAAAAA`)],
  ['wrong_issuer', (app, token) => bearer(forge(app, token, { aud: 'another-app' }))],
  ['wrong_issuer', (app, token) => bearer(forge(app, token, { iss: 'https://test.example.com' }))],
]

test.each(anonymous)('logs a refused token (%s) without a user id', async (reason, headersOf) => {
  await using app = await createTestApp()
  const { accessToken } = await app.register()
  const { status, json } = await app.ask('GET', PROFILE, { headers: headersOf(app, accessToken) })
  expect([status, JSON.stringify(json)]).toEqual([401, expect.not.stringContaining(reason)])
  const line = await app.logged({ status: 401, reason })
  expect([line['userId'], line['sessionId']]).toEqual([undefined, undefined])
})

test('logs the reason and the user when the token of a known session is refused', async () => {
  await using app = await createTestApp({ METRICS_TOKEN: 'metrics-token', RATE_LIMITS: 'off' })
  const email = 'ann@example.com'
  const { user } = await app.register(email)
  const signIn = async () => {
    const json = { email, password: PASSWORD }
    return (await app.ask('POST', '/api/auth/login/v1', { json })).json.response
  }
  const refresh = (refreshToken: string) =>
    app.ask('POST', '/api/auth/refresh/v1', { json: { refreshToken } })
  const answers = new Set<string>()
  const expectDenied = async (token: string, reason: string) => {
    const { status, json } = await app.ask('GET', PROFILE, { token })
    expect(status).toBe(401)
    answers.add(`${json.code} ${json.message}`)
    const sessionId = sessionIn(token)
    await app.logged({ status: 401, reason, userId: user._id, sessionId })
  }

  const first = await signIn()
  await app.ask('POST', '/api/auth/logout/v1', { token: first.accessToken })
  await expectDenied(first.accessToken, 'signed_out')

  const [phone, tablet] = [await signIn(), await signIn()]
  const sessions = '/api/auth/sessions/v1'
  await app.ask('DELETE', `${sessions}?id=${sessionIn(phone.accessToken)}`, {
    token: tablet.accessToken,
  })
  await expectDenied(phone.accessToken, 'signed_out')
  await app.services.users.accountSecurity.signOut(user._id)
  await expectDenied(tablet.accessToken, 'revoked')
  await app.logged({ msg: 'a session ended', reason: 'revoked', userId: user._id })

  const stolen = await signIn()
  const next = (await refresh(stolen.refreshToken)).json.response
  await app.ask('GET', PROFILE, { token: next.accessToken })
  app.clock.advance(2 * MINUTE)
  expect((await refresh(stolen.refreshToken)).status).toBe(401)
  await app.logged({ route: '/api/auth/refresh/v1', reason: 'token_reused' })
  await expectDenied(next.accessToken, 'token_reused')
  expect((await refresh('unknown')).status).toBe(401)
  await app.logged({ route: '/api/auth/refresh/v1', reason: 'unknown_token' })
  expect(answers.size).toBe(1)

  const idle = await signIn()
  app.clock.advance(16 * MINUTE)
  await expectDenied(idle.accessToken, 'expired')
  await app.services.deleteAccount(user._id)
  expect(
    (await app.ask('GET', PROFILE, { token: forge(app, idle.accessToken, inAMinute(app)) })).status,
  ).toBe(401)
  await app.logged({ reason: 'session_ended', userId: user._id })

  const metrics = await app.ask('GET', '/metrics', { token: 'metrics-token' })
  expect(metrics.text).toMatch(/homeport_denials_total{reason="signed_out".*} 2\n/)
  expect(metrics.text).toMatch(/homeport_denials_total{reason="wrong_passkey".*} 0\n/)
  expect(app.lines.join('')).not.toContain(idle.refreshToken)
})

test('distinguishes a wrong password from an unknown address only in the log', async () => {
  await using app = await createTestApp()
  const { user } = await app.register('ann@example.com')
  const signIn = async (email: string) => {
    const json = { email, password: 'a wrong password' }
    const reply = await app.ask('POST', '/api/auth/login/v1', { json })
    return { ...reply.json, requestId: null }
  }
  expect(await signIn('ann@example.com')).toEqual(await signIn('bob@example.com'))
  await app.logged({ status: 401, reason: 'wrong_password', userId: user._id })
  const unknown = await app.logged({ status: 401, reason: 'unknown_account' })
  expect(unknown['userId']).toBeUndefined()
})

test("logs why a billing provider's delivery is refused", async () => {
  await using app = await createTestApp({ WEBHOOK_SIGNING_SECRET: 'signing-secret' })
  const deliver = (headers: Record<string, string>) =>
    app.ask('POST', '/api/webhooks/billing/v1', { json: { event: { type: 'TEST' } }, headers })
  const route = '/api/webhooks/billing/v1'
  for (const [reason, headers] of [
    ['missing', {}],
    ['wrong_token', bearer('another')],
    ['wrong_signature', bearer(WEBHOOK_TOKEN)],
  ] as const) {
    expect((await deliver(headers)).status).toBe(401)
    await app.logged({ route, reason })
  }
})

function bearer(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` }
}

function sessionIn(token: string): string {
  return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()).sid
}

function inAMinute(app: TestApp) {
  return { exp: Math.floor(app.clock.now.getTime() / 1000) + 60 }
}
