import { describe, expect, test } from 'bun:test'
import { generateKeyPair, SignJWT } from 'jose'
import { localChecks } from '../../../src/cli/doctor/local-checks.ts'
import { readConfig } from '../../../src/config/config.ts'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { signInByCode } from '../../support/email-code.ts'
import { startIdentityProvider } from '../../support/identity-provider.ts'
import { startSmtp } from '../../support/smtp.ts'

const PATH = '/api/webhooks/apple-account/v1'
const RELAY = 'x7@privaterelay.appleid.com'
const ANN = { sub: 'a-1', email: RELAY, email_verified: 'true' }

type Idp = Awaited<ReturnType<typeof startIdentityProvider>>

describe.each(['consent-revoked', 'account-delete'])('%s', (type) => {
  test('unlinks the Apple account and ends the sessions, once', async () => {
    using idp = await startIdentityProvider()
    await using app = await createTestApp({}, idp)
    const ann = await signIn(app, idp)
    const payload = await notification(idp, { type, sub: ANN.sub })
    expect(await send(app, payload)).toEqual([200, 'ok'])
    expect(await statusOf(app, ann.accessToken)).toBe(401)
    expect(await linksOf(app, ann.user._id)).toEqual([])
    const again = await signIn(app, idp)
    expect(again.user._id).toBe(ann.user._id)
    expect(await send(app, payload)).toEqual([200, 'duplicate'])
    expect(await statusOf(app, again.accessToken)).toBe(200)
  })

  test('keeps the other sign-in methods', async () => {
    using idp = await startIdentityProvider()
    await using app = await createTestApp({}, idp)
    const { user } = await app.register('ann@example.com')
    await app.verifyEmail(user._id)
    const claims = { ...ANN, email: 'ann@example.com' }
    expect((await signIn(app, idp, claims)).user._id).toBe(user._id)
    await send(app, await notification(idp, { type, sub: ANN.sub }))
    expect((await signInByCode(app, 'ann@example.com')).user).toMatchObject({
      _id: user._id,
      loginType: 'email',
    })
  })
})

test('a user who consents again regains the account whose only sign-in was Apple', async () => {
  using idp = await startIdentityProvider()
  await using app = await createTestApp({}, idp)
  const ann = await signIn(app, idp, { sub: ANN.sub })
  const revoked = await notification(idp, { type: 'consent-revoked', sub: ANN.sub })
  expect(await send(app, revoked)).toEqual([200, 'ok'])
  expect(await statusOf(app, ann.accessToken)).toBe(401)
  expect((await signIn(app, idp, { sub: ANN.sub })).user._id).toBe(ann.user._id)
})

test('e-mails to the private address stop and resume, even if the notifications arrive late', async () => {
  using idp = await startIdentityProvider()
  await using smtp = await startSmtp()
  await using app = await createTestApp({ SMTP_URL: smtp.url }, idp)
  await signIn(app, idp)
  const turn = async (type: string, event_time: number) =>
    send(app, await notification(idp, { type, sub: ANN.sub, email: RELAY, event_time }))
  expect(await turn('email-disabled', 1_508_184_845)).toEqual([200, 'ok'])
  await requestCode(app, RELAY)
  await requestCode(app, 'bob@example.com')
  await smtp.next('bob@example.com')
  expect(smtp.mails.filter(({ to }) => to.includes(RELAY))).toEqual([])
  expect(await turn('email-enabled', 1_508_184_847_000)).toEqual([200, 'ok'])
  expect(await turn('email-disabled', 1_508_184_846)).toEqual([200, 'ignored'])
  await requestCode(app, RELAY)
  expect((await smtp.next(RELAY)).text).toContain('Your code is')
})

test('a notification about someone else or of another kind is ignored', async () => {
  using idp = await startIdentityProvider()
  await using app = await createTestApp({}, idp)
  const ann = await signIn(app, idp)
  for (const event of [
    { type: 'consent-revoked', sub: 'a-2' },
    { type: 'new-kind', sub: ANN.sub },
    { sub: ANN.sub },
  ]) {
    expect(await send(app, await notification(idp, event))).toEqual([200, 'ignored'])
  }
  expect(await statusOf(app, ann.accessToken)).toBe(200)
})

test('refuses notifications that Apple did not sign for this app', async () => {
  using idp = await startIdentityProvider()
  await using app = await createTestApp({}, idp)
  const ann = await signIn(app, idp)
  const events = JSON.stringify({ type: 'account-delete', sub: ANN.sub })
  const stranger = await generateKeyPair('RS256')
  const forged = await new SignJWT({ events, iss: 'https://appleid.apple.com' })
    .setProtectedHeader({ alg: 'RS256', kid: 'key-1' })
    .setAudience('com.example.app')
    .sign(stranger.privateKey)
  const [head = '', , signature = ''] = (await notification(idp, {})).split('.')
  const changed = `${head}.${Buffer.from(JSON.stringify({ events })).toString('base64url')}.${signature}`
  for (const payload of [
    'x',
    forged,
    changed,
    await idp.mint('google', { events }),
    await idp.mint('apple', { events, aud: 'com.other.app' }),
    await idp.mint('apple', { events, iss: 'https://evil.example' }),
    undefined,
    7,
    await idp.mint('apple', {}),
    await idp.mint('apple', ANN),
    await idp.mint('apple', { events: '{' }),
    await idp.mint('apple', { events: 'null' }),
    await idp.mint('apple', { events: '{"type":"account-delete"}' }),
    await idp.mint('apple', { events: { type: 'account-delete', sub: ['a-1'] } }),
  ]) {
    expect(await send(app, payload)).toEqual([401, 'unauthenticated'])
  }
  expect((await app.ask('POST', PATH, { body: '{' })).status).toBe(400)
  expect(await statusOf(app, ann.accessToken)).toBe(200)
  const body = await idp.mint('apple', { events })
  const social = { json: { provider: 'apple', idToken: body } }
  expect((await app.ask('POST', '/api/auth/social/v1', social)).status).toBe(401)
})

test('refuses every notification if no client ids are set', async () => {
  using idp = await startIdentityProvider()
  idp.providers.apple.clientIds = []
  await using app = await createTestApp({}, idp)
  const payload = await notification(idp, { type: 'account-delete', sub: ANN.sub })
  expect(await send(app, payload)).toEqual([401, 'unauthenticated'])
  expect(idp.requestedPaths).toEqual([])
})

test('answers 503 while Apple’s keys cannot be read', async () => {
  using idp = await startIdentityProvider()
  const payload = await notification(idp, { type: 'account-delete', sub: ANN.sub })
  idp.providers.apple.jwksUrl = 'http://127.0.0.1:1/keys'
  await using app = await createTestApp({}, idp)
  app.expectErrors()
  expect(await send(app, payload)).toEqual([503, 'unavailable'])
})

test('doctor names the endpoint, and what Apple needs to revoke sign-ins', async () => {
  const keys = { APPLE_TEAM_ID: 't', APPLE_KEY_ID: 'k', APPLE_PRIVATE_KEY: 'PRIVATE KEY' }
  for (const [settings, state] of [
    [{}, 'warning'],
    [keys, 'ok'],
  ] as const) {
    const apple = { APPLE_CLIENT_IDS: 'a', BASE_URL: 'https://api.example.com' }
    const checks = localChecks(readConfig({}, { ...apple, ...settings }), null)
    const found = await checks.find(({ name }) => name === 'apple')?.run()
    expect(found?.state).toBe(state)
    expect(found?.detail).toContain(`https://api.example.com${PATH}`)
  }
})

let number = 0

function notification(idp: Idp, events: object) {
  const jti = `n-${++number}`
  return idp.mint('apple', { jti, exp: undefined, events: JSON.stringify(events) })
}

async function send(app: TestApp, payload: unknown) {
  const { status, json } = await app.ask('POST', PATH, { json: { payload } })
  return [status, json.code]
}

async function signIn(app: TestApp, idp: Idp, claims: object = ANN) {
  const json = { provider: 'apple', idToken: await idp.mint('apple', { ...claims }) }
  return (await app.ask('POST', '/api/auth/social/v1', { json })).json.response
}

async function statusOf(app: TestApp, token: string) {
  return (await app.ask('GET', '/api/user/profile/v1', { token })).status
}

function linksOf(app: TestApp, userId: string) {
  return app.services.users.identities.list(userId)
}

function requestCode(app: TestApp, email: string) {
  return app.ask('POST', '/api/auth/email_code/v1', { json: { email } })
}
