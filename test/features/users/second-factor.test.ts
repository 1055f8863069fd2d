import { describe, expect, test } from 'bun:test'
import { TOTP } from 'totp-generator'
import { createTestApp, PASSWORD, type TestApp } from '../../support/app.ts'
import { startIdentityProvider } from '../../support/identity-provider.ts'
import {
  addPasskey,
  creationOptions,
  EMAIL,
  ORIGIN,
  PASSKEY_PATH,
} from '../../support/passkey-requests.ts'

const PASSWORD_PATH = '/api/auth/password/v1'
const EMAIL_PATH = '/api/auth/email/v1/change'
const SOCIAL_PATH = '/api/auth/social/v1'
const TWO_FACTOR_PATH = '/api/auth/two_factor/v1'

/** Ann has a password, a passkey, a linked provider and two-factor. `code()` returns a recovery code. */
async function setUp() {
  const identityProvider = await startIdentityProvider()
  const { providers } = identityProvider
  const app = await createTestApp({ BASE_URL: ORIGIN }, { providers })
  const { accessToken: token, user } = await app.register(EMAIL)
  await app.verifyEmail(EMAIL)
  const idToken = (provider: 'google' | 'apple') =>
    identityProvider.mint(
      provider,
      { sub: `${provider} ann`, email: EMAIL, email_verified: true },
      { at: app.clock.now },
    )
  const json = { provider: 'apple', idToken: await idToken('apple') }
  expect((await app.ask('POST', SOCIAL_PATH, { json, token })).status).toBe(200)
  const { passkey } = await addPasskey(app, token)
  const { json: secret } = await app.ask('POST', TWO_FACTOR_PATH, {
    token,
    json: { password: PASSWORD },
  })
  const recoveryCodes = await turnOn(app, token, secret.response.secret)
  return {
    app,
    token,
    user,
    passkey,
    idToken,
    code: () => recoveryCodes.pop() ?? '',
    async [Symbol.asyncDispose]() {
      await app[Symbol.asyncDispose]()
      identityProvider[Symbol.dispose]()
    },
  }
}

async function turnOn(app: TestApp, token: string, secret: string): Promise<string[]> {
  const { otp: code } = await TOTP.generate(secret, { timestamp: app.clock.now.getTime() })
  const { json } = await app.ask('POST', `${TWO_FACTOR_PATH}/confirm`, { token, json: { code } })
  return json.response.recoveryCodes
}

type Setup = Awaited<ReturnType<typeof setUp>>
type Change = (setup: Setup, code: string | undefined) => ReturnType<TestApp['ask']>

const newPassword = 'another good one'
const inBody =
  (method: string, path: string, body: object): Change =>
  ({ app, token }, code) =>
    app.ask(method, path, { token, json: { ...body, ...(code && { code }) } })
const inQuery = (code: string | undefined) => (code ? `&code=${encodeURIComponent(code)}` : '')
const CHANGES: [string, Change][] = [
  ['adding a passkey', inBody('POST', `${PASSKEY_PATH}/options`, { password: PASSWORD })],
  ['adding a passkey after a recent sign-in', inBody('POST', `${PASSKEY_PATH}/options`, {})],
  [
    'removing a passkey',
    ({ app, token, passkey }, code) =>
      app.ask('DELETE', `${PASSKEY_PATH}?id=${passkey.id}${inQuery(code)}`, { token }),
  ],
  [
    'changing the password',
    inBody('PATCH', PASSWORD_PATH, { currentPassword: PASSWORD, newPassword }),
  ],
  [
    'changing the address',
    inBody('POST', EMAIL_PATH, { password: PASSWORD, email: 'new@example.com' }),
  ],
  [
    'linking a provider',
    async ({ app, token, idToken }, code) => {
      const json = { provider: 'google', idToken: await idToken('google'), ...(code && { code }) }
      return app.ask('POST', SOCIAL_PATH, { token, json })
    },
  ],
  [
    'unlinking a provider',
    ({ app, token }, code) =>
      app.ask('DELETE', `${SOCIAL_PATH}?provider=apple${inQuery(code)}`, { token }),
  ],
]

describe.each(CHANGES)('with two-factor on, %s', (_name, change) => {
  test('needs a code', async () => {
    await using setup = await setUp()
    const without = await change(setup, undefined)
    expect([without.status, without.json.code]).toEqual([403, 'two_factor_required'])
    const wrong = await change(setup, '000000')
    expect([wrong.status, wrong.json.code]).toEqual([401, 'invalid_credentials'])
    const code = setup.code()
    expect((await change(setup, code)).status).toBe(200)
    const profile = await setup.app.ask('GET', '/api/user/profile/v1', { token: setup.token })
    expect(profile.json.response.twoFactor.recoveryCodesLeft).toBe(9)
    // Linking the provider again is only a sign-in, which needs the second step.
    const again = await change(setup, code)
    expect([again.status, again.json.code]).toBeOneOf([
      [401, 'invalid_credentials'],
      [200, 'two_factor_required'],
    ])
  })

  test('counts failed codes', async () => {
    await using setup = await setUp()
    const statuses: number[] = []
    for (let at = 0; at < 11; at++) statuses.push((await change(setup, `00000${at % 10}`)).status)
    expect(statuses).toEqual([...Array(10).fill(401), 429])
  })

  test('changes nothing without a code', async () => {
    await using setup = await setUp()
    const before = await stateOf(setup)
    await change(setup, undefined)
    await change(setup, '000000')
    expect(await stateOf(setup)).toEqual(before)
  })
})

async function stateOf({ app, user }: Setup) {
  const { db } = app.services
  const { users, passkeys, identities, oneTimeTokens } = db.tables
  const [account] = await db.read.select().from(users)
  const links = await db.read.select().from(identities)
  return {
    passwordHash: account?.passwordHash,
    passkeys: await db.read.select().from(passkeys),
    links: links.filter(({ userId }) => userId === user._id),
    tokens: await db.read.$count(oneTimeTokens),
  }
}

test('without two-factor, no code is needed, and one that is sent is ignored', async () => {
  await using app = await createTestApp({ BASE_URL: ORIGIN })
  const { accessToken: token } = await app.register(EMAIL)
  const json = { currentPassword: PASSWORD, newPassword, code: '123456' }
  expect((await app.ask('PATCH', PASSWORD_PATH, { token, json })).status).toBe(200)
  expect((await creationOptions(app, token)).status).toBe(200)
})

test('a provider signs in to an account with two-factor, but is not linked to it', async () => {
  await using setup = await setUp()
  await setup.app.ask('DELETE', `${SOCIAL_PATH}?provider=apple&code=${setup.code()}`, {
    token: setup.token,
  })
  const apple = { provider: 'apple', idToken: await setup.idToken('apple') }
  const challenge = await setup.app.ask('POST', SOCIAL_PATH, { json: apple })
  expect(challenge.json.code).toBe('two_factor_required')
  expect((await stateOf(setup)).links).toEqual([])
})

test('linking with a code returns the session immediately', async () => {
  await using setup = await setUp()
  const json = { provider: 'google', idToken: await setup.idToken('google'), code: setup.code() }
  const { json: reply } = await setup.app.ask('POST', SOCIAL_PATH, { token: setup.token, json })
  expect([reply.code, reply.response.user._id]).toEqual(['ok', setup.user._id])
})
