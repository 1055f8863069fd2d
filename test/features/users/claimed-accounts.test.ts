import { describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { serverClient } from '../../support/api-keys.ts'
import { PASSWORD, type TestApp } from '../../support/app.ts'
import { startIdentityProvider } from '../../support/identity-provider.ts'
import { addPasskey, createApp, signInWithPasskey } from '../../support/passkey-requests.ts'

const GMAIL = 'ann@gmail.com'

/** Providers that own the address which they have verified. */
const PROVIDERS = [
  ['google', { email: GMAIL, email_verified: true }],
  ['google', { email: 'ann@example.com', email_verified: true, hd: 'example.com' }],
  ['apple', { email: 'Ann@example.com', email_verified: 'true' }],
  ['apple', { email: 'x7@privaterelay.appleid.com', email_verified: true }],
  ['oidc', { email: 'ann@acme.test', email_verified: true }],
] as const

/** Every way to create an account with an unverified address. */
const CREATORS: Record<string, (app: TestApp, email: string) => Promise<string>> = {
  'a registration': async (app, email) => (await app.register(email)).user._id,
  'a guest who registered': async (app, email) => {
    const { accessToken: token } = await startGuest(app)
    const json = { email, password: PASSWORD }
    const made = await app.ask('POST', '/api/auth/register/v1', { token, json })
    return made.json.response.user._id
  },
  'an app’s server': async (app, email) => {
    const ask = await serverClient(app)
    return (await ask('POST', 'users/v1', { json: { email } })).json.response._id
  },
  'an operator': async (app, email) => {
    const login = { email, password: PASSWORD, emailVerified: false }
    const defaults = { name: '', locale: 'en', timezone: 'utc' }
    return (await app.services.users.passwordLogin.create({ ...login, ...defaults })).id
  },
}

describe('the owner of an unverified address takes over its account', () => {
  test.each(PROVIDERS)('with %s: %#', async (provider, claims) => {
    using idp = await startIdentityProvider()
    await using app = await createApp(idp.openId, idp)
    const { user } = await app.register(claims.email.toLowerCase())
    const idToken = await idp.mint(provider, { sub: 's-1', ...claims })
    const owner = (await social(app, provider, idToken)).json.response
    expect(owner.user).toMatchObject({ _id: user._id, emailVerified: true, loginType: provider })
    const again = await social(app, provider, await idp.mint(provider, { sub: 's-1' }))
    expect(again.json.response.user._id).toBe(user._id)
  })

  test.each(Object.entries(CREATORS))('that %s created', async (_name, create) => {
    using idp = await startIdentityProvider()
    await using app = await createApp({}, idp)
    const id = await create(app, GMAIL)
    const owner = await social(app, 'google', await idp.mint('google', GOOGLE))
    expect(owner.json.response.user._id).toBe(id)
  })

  test('while signed in to it', async () => {
    using idp = await startIdentityProvider()
    await using app = await createApp({}, idp)
    const { user, accessToken } = await app.register(GMAIL)
    const linked = await social(app, 'google', await idp.mint('google', GOOGLE), accessToken)
    expect(linked.json.response.user).toMatchObject({ _id: user._id, emailVerified: true })
  })

  test('and the guest who signs in is merged into it', async () => {
    using idp = await startIdentityProvider()
    await using app = await createApp({}, idp)
    const { user } = await app.register(GMAIL)
    const guest = await startGuest(app)
    const idToken = await idp.mint('google', GOOGLE)
    const owner = await social(app, 'google', idToken, guest.accessToken)
    expect(owner.json.response.user._id).toBe(user._id)
    expect(await app.services.accounts.exists(guest.user._id)).toBe(false)
  })
})

test('a sign-in with a provider that owns the address removes a stranger’s sessions and sign-in methods', async () => {
  using idp = await startIdentityProvider()
  await using app = await createApp({}, idp)
  const stranger = await app.register(GMAIL)
  const { user, accessToken: token } = stranger
  const { passkey } = await addPasskey(app, token)
  const { db } = app.services
  const { identities, users } = db.tables
  const createdAt = app.clock.now
  const other = { provider: 'apple', subject: 'a-9', email: null, grant: null, createdAt }
  await db.write(async (tx) => {
    await tx.insert(identities).values({ ...other, userId: user._id })
    await tx.update(users).set({ twoFactorSince: createdAt }).where(eq(users.id, user._id))
  })
  const owner = await social(app, 'google', await idp.mint('google', GOOGLE))
  expect([owner.json.code, owner.json.response.user._id]).toEqual(['ok', user._id])
  expect((await app.ask('GET', '/api/user/profile/v1', { token })).status).toBe(401)
  const { refreshToken } = stranger
  const refreshed = await app.ask('POST', '/api/auth/refresh/v1', { json: { refreshToken } })
  expect(refreshed.status).toBe(401)
  const login = { json: { email: GMAIL, password: PASSWORD } }
  expect((await app.ask('POST', '/api/auth/login/v1', login)).status).toBe(401)
  expect((await signInWithPasskey(app, passkey)).status).toBe(401)
  const left = await db.read.select({ provider: identities.provider }).from(identities)
  expect(left).toEqual([{ provider: 'google' }])
})

test('a provider that does not own the address is linked only to the signed-in user’s account', async () => {
  using idp = await startIdentityProvider()
  await using app = await createApp({}, idp)
  const { user, accessToken } = await app.register('ann@example.com')
  const claims = { email: 'ann@example.com', email_verified: true }
  const stranger = await social(app, 'google', await idp.mint('google', { sub: 'g-1', ...claims }))
  expect(stranger.json.response.user._id).not.toBe(user._id)
  const idToken = await idp.mint('google', { sub: 'g-2', ...claims })
  const linked = await social(app, 'google', idToken, accessToken)
  expect(linked.json.response.user).toMatchObject({ _id: user._id, emailVerified: false })
  const login = { json: { email: 'ann@example.com', password: PASSWORD } }
  expect((await app.ask('POST', '/api/auth/login/v1', login)).status).toBe(200)
})

const GOOGLE = { sub: 'g-1', email: GMAIL, email_verified: true }

async function startGuest(app: TestApp) {
  return (await app.ask('POST', '/api/auth/guest/v1')).json.response
}

function social(app: TestApp, provider: string, idToken: string, token?: string) {
  const json = { provider, idToken }
  return app.ask('POST', '/api/auth/social/v1', { json, ...(token ? { token } : {}) })
}
