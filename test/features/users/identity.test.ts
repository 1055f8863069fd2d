import { expect, test } from 'bun:test'
import { generateKeyPair, SignJWT } from 'jose'
import { UserExport } from '../../../src/server/declarations.ts'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { fault } from '../../support/fault.ts'
import { startIdentityProvider } from '../../support/identity-provider.ts'

const PATH = '/api/auth/social/v1'
const ANN = { sub: 'g-1', email: 'ann@example.com', email_verified: true, name: 'Ann' }

test('signing in with Google twice returns the same user', async () => {
  using idp = await startIdentityProvider()
  await using app = await createTestApp({}, idp)
  const first = await social(app, 'google', await idp.mint('google', ANN))
  expect(first.status).toBe(200)
  expect(first.json.response.user).toMatchObject({
    loginType: 'google',
    email: 'ann@example.com',
    profile: { name: 'Ann' },
  })
  const again = await social(
    app,
    'google',
    await idp.mint('google', { ...ANN, email: 'new@example.com' }),
  )
  expect(again.json.response.user).toEqual(first.json.response.user)
  expect((await profileOf(app, again.json.response.accessToken)).status).toBe(200)
})

test('fetches an unknown key after a rotation, but not for every forged token', async () => {
  using idp = await startIdentityProvider()
  await using app = await createTestApp({}, idp)
  expect((await social(app, 'google', await idp.mint('google', ANN))).status).toBe(200)
  expect((await social(app, 'google', await idp.mint('google', ANN))).status).toBe(200)
  expect(idp.requestedPaths).toEqual(['/keys'])
  for (let at = 0; at < 20; at++) {
    const forged = await idp.mint('google', ANN, { header: { kid: `unknown-${at}` } })
    expect((await social(app, 'google', forged)).status).toBe(401)
  }
  expect(idp.requestedPaths.length).toBeLessThanOrEqual(2)
  await idp.rotate()
  const fresh = await idp.mint('apple', { ...ANN, sub: 'a-1' })
  expect((await social(app, 'apple', fresh)).status).toBe(200)
})

test('links accounts only by an address that both sides have verified', async () => {
  using idp = await startIdentityProvider()
  await using app = await createTestApp({}, idp)
  const squatter = await app.register('ann@example.com')
  const separate = await social(app, 'google', await idp.mint('google', ANN))
  expect(separate.json.response.user._id).not.toBe(squatter.user._id)
  expect(separate.json.response.user.email).toBe('ann@example.com')

  const bob = await app.register('bob@example.com')
  const { users } = app.services.db.tables
  await app.services.db.write(async (tx) => {
    await tx.update(users).set({ emailVerifiedAt: app.clock.now })
  })
  const unverified = { sub: 'g-2', email: 'bob@example.com', email_verified: false }
  const stranger = await social(app, 'google', await idp.mint('google', unverified))
  expect(stranger.json.response.user._id).not.toBe(bob.user._id)
  const verified = { sub: 'a-2', email: 'BOB@example.com', email_verified: 'true' }
  const linked = await social(app, 'apple', await idp.mint('apple', verified))
  expect(linked.json.response.user).toMatchObject({ _id: bob.user._id, loginType: 'email' })
})

const HASH = new Bun.CryptoHasher('sha256').update('n-1').digest('hex')
/** The nonces of the id token and of the app, and the responses without and with `SOCIAL_NONCE=required`. */
const NONCES = [
  ['google', { nonce: 'n-1' }, 'n-1', 200, 200],
  ['google', { nonce: HASH }, 'n-1', 200, 200],
  ['google', { nonce: HASH }, HASH, 200, 200],
  ['google', { nonce: HASH.toUpperCase() }, 'n-1', 401, 401],
  ['google', { nonce: 'n-1' }, 'n-2', 401, 401],
  ['google', { nonce: 'n-1' }, undefined, 200, 401],
  ['google', { nonce: ['n-1'] }, 'n-1', 401, 401],
  ['google', { nonce: null }, 'n-1', 401, 401],
  ['google', {}, undefined, 200, 401],
  ['google', {}, 'n-1', 401, 401],
  ['google', { nonce_supported: false }, 'n-1', 401, 401],
  ['apple', { nonce: 'n-1', nonce_supported: true }, 'n-1', 200, 200],
  ['apple', { nonce: HASH }, 'n-1', 200, 200],
  ['apple', { nonce: HASH }, 'n-2', 401, 401],
  ['apple', { nonce: 'n-1' }, undefined, 401, 401],
  ['apple', {}, 'n-1', 401, 401],
  ['apple', { nonce_supported: true }, 'n-1', 401, 401],
  ['apple', { nonce_supported: false }, 'n-1', 200, 200],
  ['apple', { nonce_supported: 'false' }, 'n-1', 200, 200],
  ['apple', { nonce: 'n-2', nonce_supported: false }, 'n-1', 401, 401],
  ['apple', { nonce_supported: false }, undefined, 200, 401],
  ['oidc', { nonce: 'n-1' }, 'n-1', 200, 200],
  ['oidc', { nonce: HASH }, 'n-1', 401, 401],
  ['oidc', { nonce: 'n-1' }, undefined, 401, 401],
  ['oidc', {}, 'n-1', 401, 401],
  ['oidc', { nonce_supported: false }, 'n-1', 401, 401],
  ['oidc', {}, undefined, 200, 401],
] as const

test.each(['optional', 'required'])(
  'the nonces of the app and the id token must match when they are %s',
  async (SOCIAL_NONCE) => {
    using idp = await startIdentityProvider()
    await using app = await createTestApp({ ...idp.openId, SOCIAL_NONCE }, idp)
    for (const [provider, claims, nonce, optional, required] of NONCES) {
      const idToken = await idp.mint(provider, { sub: provider, ...claims })
      const json = { provider, idToken, ...(nonce ? { nonce } : {}) }
      const { status } = await app.ask('POST', PATH, { json })
      const expected = SOCIAL_NONCE === 'required' ? required : optional
      expect([provider, claims, nonce, status]).toEqual([provider, claims, nonce, expected])
    }
  },
)

test.each(['google', 'oidc'] as const)(
  `forged, foreign and stale id tokens from %s get 401 ${fault(74)}`,
  async (provider) => {
    using idp = await startIdentityProvider()
    await using app = await createTestApp(idp.openId, idp)
    const good = await idp.mint(provider, ANN)
    const [head = '', payload = '', signature = ''] = good.split('.')
    const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    const stranger = await generateKeyPair('RS256')
    const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
    const hour = 3_600_000
    const forged = [
      'x',
      `${encode({ alg: 'none' })}.${payload}.`,
      `${encode({ alg: 'HS256', kid: 'key-1' })}.${payload}.${signature}`,
      `${head}.${encode({ ...claims, sub: 'g-2' })}.${signature}`,
      await new SignJWT(claims)
        .setProtectedHeader({ alg: 'RS256', kid: 'key-1' })
        .sign(stranger.privateKey),
      await idp.mint(provider, { ...ANN, aud: 'com.other.app' }),
      await idp.mint(provider, { ...ANN, iss: 'https://evil.example' }),
      await idp.mint('apple', ANN),
      await idp.mint(provider, ANN, { at: new Date(Date.now() - 2 * hour) }),
      await idp.mint(provider, { ...ANN, sub: '' }),
      await idp.mint(provider, { ...ANN, sub: undefined }),
      await idp.mint(provider, { ...ANN, sub: 7 }),
      await idp.mint(provider, { ...ANN, sub: 'g\u0000' }),
      await idp.mint(provider, { ...ANN, sub: 'g'.repeat(256) }),
      await idp.mint(provider, { ...ANN, sub: ['g-1'] }),
      ...(provider === 'google' ? [await idp.mint(provider, { ...ANN, aud: [claims.aud] })] : []),
      await idp.mint(provider, { ...ANN, aud: [claims.aud, 'com.other.app'] }),
    ]
    for (const [at, idToken] of forged.entries()) {
      expect([at, (await social(app, provider, idToken)).status]).toEqual([at, 401])
    }
  },
)

test('reports a provider that is not set up, and returns 503 if one does not respond', async () => {
  await using plain = await createTestApp()
  const missing = await social(plain, 'google', 'x')
  expect([missing.status, missing.json.details[0].path]).toEqual([422, 'provider'])
  using idp = await startIdentityProvider()
  const token = await idp.mint('google', ANN)
  const { providers } = idp
  providers.google.jwksUrl = 'http://127.0.0.1:1/keys'
  await using app = await createTestApp({}, { providers })
  app.expectErrors()
  expect((await social(app, 'google', token)).status).toBe(503)
})

test('a guest who registers keeps their id and files', async () => {
  await using app = await createTestApp()
  const guest = await startGuest(app)
  expect(guest.user).toMatchObject({ loginType: 'guest', email: '' })
  const file = await uploadAs(app, guest.accessToken)
  const json = { email: 'ann@example.com', password: 'a long enough one', name: 'Ann' }
  const made = await app.ask('POST', '/api/auth/register/v1', { token: guest.accessToken, json })
  expect(made.json.response.user).toMatchObject({
    _id: guest.user._id,
    loginType: 'email',
    email: 'ann@example.com',
    profile: { name: 'Ann' },
  })
  expect((await detailsOf(app, made.json.response.accessToken, file)).status).toBe(200)
  const login = await app.ask('POST', '/api/auth/login/v1', {
    json: { email: json.email, password: json.password },
  })
  expect(login.json.response.user._id).toBe(guest.user._id)
})

test('a guest who signs in with a provider is upgraded or merged into the account', async () => {
  using idp = await startIdentityProvider()
  await using app = await createTestApp({}, idp)
  const first = await startGuest(app)
  const upgraded = await social(app, 'google', await idp.mint('google', ANN), first.accessToken)
  expect(upgraded.json.response.user).toMatchObject({ _id: first.user._id, loginType: 'google' })

  const second = await startGuest(app)
  const file = await uploadAs(app, second.accessToken)
  const moved = await social(app, 'google', await idp.mint('google', ANN), second.accessToken)
  expect(moved.json.response.user._id).toBe(first.user._id)
  expect((await detailsOf(app, moved.json.response.accessToken, file)).status).toBe(200)
  expect((await profileOf(app, second.accessToken)).status).toBe(401)
})

test('registering with the token of a full user creates a new account', async () => {
  await using app = await createTestApp()
  const ann = await app.register('ann@example.com')
  const json = { email: 'new@example.com', password: 'a long enough one' }
  const made = await app.ask('POST', '/api/auth/register/v1', { token: ann.accessToken, json })
  expect(made.json.response.user._id).not.toBe(ann.user._id)
  const forged = await app.ask('POST', '/api/auth/register/v1', {
    token: 'x',
    json: { ...json, email: 'b@example.com' },
  })
  expect(forged.status).toBe(401)
})

test.each(['', 'https://example.com/callback'])(
  'deleting an account revokes the grant from Apple, with the redirect URI “%s”',
  async (redirectUri) => {
    using idp = await startIdentityProvider()
    idp.redirect.uri = redirectUri
    const { privateKey } = await generateKeyPair('ES256', { extractable: true })
    const pem = Buffer.from(await crypto.subtle.exportKey('pkcs8', privateKey)).toString('base64')
    const keys = {
      APPLE_TEAM_ID: 'TEAM',
      APPLE_KEY_ID: 'KEY',
      APPLE_PRIVATE_KEY: `-----BEGIN PRIVATE KEY-----\n${pem}\n-----END PRIVATE KEY-----`,
    }
    await using app = await createTestApp(keys, { providers: idp.providers, appleUrl: idp.url })
    const idToken = await idp.mint('apple', { sub: 'a-1' })
    const code = { authorizationCode: 'code-1', ...(redirectUri ? { redirectUri } : {}) }
    const json = { provider: 'apple', idToken, ...code }
    const signedIn = await app.ask('POST', PATH, { json })
    expect(signedIn.status).toBe(200)
    const token = signedIn.json.response.accessToken
    expect((await app.ask('DELETE', '/api/user/profile/v1', { token })).status).toBe(200)
    await app.services.users.outbox.flush()
    expect(idp.revoked).toEqual(['r-code-1'])
  },
)

test('the export contains all of the user’s data and nobody else’s', async () => {
  using idp = await startIdentityProvider()
  await using app = await createTestApp({}, idp)
  await app.register('other@example.com')
  const { json } = await social(app, 'google', await idp.mint('google', ANN))
  const { accessToken: token, user } = json.response
  const file = await uploadAs(app, token)
  const { response } = (await app.ask('GET', '/api/user/export/v1', { token })).json
  expect(Object.keys(response).toSorted()).toEqual(Object.keys(UserExport.properties).toSorted())
  expect(response.user).toEqual(user)
  expect(response.identities).toMatchObject([{ provider: 'google', subject: 'g-1' }])
  expect(response.sessions).toHaveLength(1)
  expect(response.attachments).toMatchObject([{ key: file }])
  expect(JSON.stringify(response)).not.toContain('other@example.com')
})

function social(app: TestApp, provider: string, idToken: string, token?: string) {
  return app.ask('POST', PATH, { json: { provider, idToken }, ...(token ? { token } : {}) })
}

function profileOf(app: TestApp, token: string) {
  return app.ask('GET', '/api/user/profile/v1', { token })
}

async function startGuest(app: TestApp) {
  const { json } = await app.ask('POST', '/api/auth/guest/v1')
  return json.response as {
    accessToken: string
    refreshToken: string
    user: { _id: string; loginType: string; email: string }
  }
}

async function uploadAs(app: TestApp, token: string): Promise<string> {
  const { json } = await app.ask('POST', '/api/user/attachments/v1?type=supportTicket', {
    token,
    body: 'text',
    headers: { 'content-type': 'text/plain' },
  })
  return json.response[0].key
}

function detailsOf(app: TestApp, token: string, key: string) {
  return app.ask('GET', `/api/user/attachments/v1/download?key=${key}`, { token })
}
