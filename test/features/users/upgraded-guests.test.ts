import { describe, expect, test } from 'bun:test'
import { PASSWORD, type TestApp } from '../../support/app.ts'
import { signInByCode } from '../../support/email-code.ts'
import { startIdentityProvider } from '../../support/identity-provider.ts'
import {
  addPasskey,
  createApp,
  creationOptions,
  EMAIL,
  signInWithPasskey,
} from '../../support/passkey-requests.ts'
import { startSmtp } from '../../support/smtp.ts'

/** Every way for a guest to become an account with a new session. Each returns its access token. */
const UPGRADES: Record<string, (app: TestApp, token: string) => Promise<string>> = {
  'a password': async (app, token) => {
    const json = { email: EMAIL, password: PASSWORD }
    return tokenIn(await app.ask('POST', '/api/auth/register/v1', { token, json }))
  },
  'a code': async (app, token) => (await signInByCode(app, EMAIL, { token })).accessToken,
}

describe('a stolen guest token gives no control over the account that the guest becomes', () => {
  test.each(Object.entries(UPGRADES))('with %s', async (_name, upgrade) => {
    await using app = await createApp()
    const guest = await startGuest(app)
    const owner = await upgrade(app, guest.accessToken)
    expect(await statusesOf(app, guest)).toEqual([401, 401])
    expect((await profileOf(app, owner)).json.response._id).toBe(guest.user._id)
  })

  test('with a provider', async () => {
    using idp = await startIdentityProvider()
    await using app = await createApp({}, idp)
    const guest = await startGuest(app)
    const idToken = await idp.mint('google', { sub: 'g-1' })
    const json = { provider: 'google', idToken }
    const { accessToken: token } = guest
    const owner = tokenIn(await app.ask('POST', '/api/auth/social/v1', { token, json }))
    expect(await statusesOf(app, guest)).toEqual([401, 401])
    expect((await profileOf(app, owner)).json.response._id).toBe(guest.user._id)
  })

  test('with a passkey, because adding another one requires a sign-in', async () => {
    await using app = await createApp()
    const { accessToken: token } = await startGuest(app)
    app.clock.advance(1_000)
    const { passkey } = await addPasskey(app, token)
    const refused = await creationOptions(app, token)
    expect([refused.status, refused.json.code]).toEqual([403, 'recent_sign_in_required'])
    const owner = tokenIn(await signInWithPasskey(app, passkey))
    expect((await creationOptions(app, owner)).status).toBe(200)
  })
})

test('the last passkey cannot be removed if the account’s provider is no longer set up', async () => {
  using idp = await startIdentityProvider()
  await using app = await createApp(idp.openId, idp)
  const idToken = await idp.mint('oidc', { sub: 'o-1' })
  const json = { provider: 'oidc', idToken }
  const token = tokenIn(await app.ask('POST', '/api/auth/social/v1', { json }))
  const { passkey } = await addPasskey(app, token)
  const { db } = app.services
  const { identities } = db.tables
  await db.write((tx) => tx.update(identities).set({ subject: 'https://former.example o-1' }))
  const path = `/api/auth/passkey/v1?id=${passkey.id}`
  expect((await app.ask('DELETE', path, { token })).status).toBe(409)
})

test('an e-mail to an unverified address contains no text written by the user', async () => {
  await using smtp = await startSmtp()
  await using app = await createApp({ SMTP_URL: smtp.url })
  const { accessToken } = await app.register(EMAIL)
  await smtp.next(EMAIL)
  await addPasskey(app, accessToken)
  const { text } = await smtp.next(EMAIL)
  expect(text).toContain('You can now sign in with the passkey “…”.')
  expect(text).not.toContain('Phone')
})

async function startGuest(app: TestApp) {
  const { json } = await app.ask('POST', '/api/auth/guest/v1')
  return json.response as { accessToken: string; refreshToken: string; user: { _id: string } }
}

/** The statuses of a request with the session's access token, and of a refresh. */
async function statusesOf(app: TestApp, session: { accessToken: string; refreshToken: string }) {
  const json = { refreshToken: session.refreshToken }
  const refreshed = await app.ask('POST', '/api/auth/refresh/v1', { json })
  return [(await profileOf(app, session.accessToken)).status, refreshed.status]
}

function profileOf(app: TestApp, token: string) {
  return app.ask('GET', '/api/user/profile/v1', { token })
}

function tokenIn({ json }: Awaited<ReturnType<TestApp['ask']>>): string {
  return json.response.accessToken
}
