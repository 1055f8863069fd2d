import { describe, expect, test } from 'bun:test'
import { serverClient } from '../../support/api-keys.ts'
import { createTestApp, PASSWORD, type TestApp } from '../../support/app.ts'
import { runCommand } from '../../support/commands.ts'
import { startIdentityProvider } from '../../support/identity-provider.ts'
import { createPasskey } from '../../support/passkey.ts'
import { createApp, creationOptions, ORIGIN, PASSKEY_PATH } from '../../support/passkey-requests.ts'

const EMAIL = 'ann@example.com'
const REGISTER = '/api/auth/register/v1'

describe('an e-mail address with invisible characters around it', () => {
  test.each([
    ['spaces', ' ann@example.com  '],
    ['a line feed', 'ann@example.com\r\n'],
    ['no-break spaces', '\u00a0ann@example.com\u202f'],
    ['a byte order mark', '\ufeffann@example.com'],
    ['zero-width spaces', '\u200bann@example.com\u200b'],
    ['a left-to-right mark', '\u200eann@example.com'],
    ['isolates', '\u2068ann@example.com\u2069'],
    ['a variation selector', 'ann@example.com\ufe0f'],
    ['a mixture', ' \u200b\n\ufeffann@example.com\t\u2060 '],
  ])('registers and signs in: %s', async (_what, typed) => {
    await using app = await createTestApp()
    const registered = await app.ask('POST', REGISTER, {
      json: { email: typed, password: PASSWORD },
    })
    expect([registered.status, registered.json.response?.user.email]).toEqual([200, EMAIL])
    for (const email of [EMAIL, typed]) {
      const login = await app.ask('POST', '/api/auth/login/v1', {
        json: { email, password: PASSWORD },
      })
      expect(login.status).toBe(200)
    }
  })

  test('is found by a query in which the plus sign is not encoded', async () => {
    await using app = await createTestApp()
    const ask = await serverClient(app)
    const email = 'ann+news@example.com'
    const created = await ask('POST', 'users/v1', { json: { email, password: PASSWORD } })
    const { _id: id } = created.json.response
    for (const typed of [email, 'ann%2Bnews@example.com', 'ann%20news@example.com']) {
      const found = await ask('GET', `users/v1?email=${typed}`)
      expect(found.json.response).toMatchObject([{ _id: id, email }])
    }
    const { users } = await app.services.findUsers('ann news@exam')
    expect(users.map((user) => user.id)).toEqual([id])
  })

  test('is accepted by every other route and form', async () => {
    await using app = await createTestApp({ SIGN_UP: 'invite' })
    const typed = `\u200b ${EMAIL} \n`
    const ask = await serverClient(app)
    const created = await ask('POST', 'users/v1', { json: { email: typed, password: PASSWORD } })
    const { _id: id, email } = created.json.response
    expect(email).toBe(EMAIL)
    const query = `users/v1?email=${encodeURIComponent(typed)}`
    expect((await ask('GET', query)).json.response).toHaveLength(1)
    for (const path of ['password/v1/forgot', 'email_code/v1'])
      expect((await app.ask('POST', `/api/auth/${path}`, { json: { email: typed } })).status).toBe(
        200,
      )
    const login = { email: EMAIL, password: PASSWORD }
    const { accessToken: token } = (await app.ask('POST', '/api/auth/login/v1', { json: login }))
      .json.response
    const change = { email: ' bob@example.com\u200b', password: PASSWORD }
    expect(
      (await app.ask('POST', '/api/auth/email/v1/change', { token, json: change })).status,
    ).toBe(200)
    const rows = await app.services.db.read.select().from(app.services.db.tables.oneTimeTokens)
    expect(rows.map(({ email }) => email).filter((email) => email !== null)).not.toContain(
      change.email,
    )
    const { users } = app.services
    expect((await users.directory.find(typed)).id).toBe(id)
    await users.signUp.invite(' carl@example.com\ufeff', 'en')
    const invited = await app.services.db.read.select().from(app.services.db.tables.oneTimeTokens)
    expect(invited.map(({ email }) => email)).toContain('carl@example.com')
    const body = new URLSearchParams({ email: typed, password: PASSWORD })
    const deleted = await app.ask('POST', '/account/delete', { body })
    expect(deleted.status).toBe(200)
  })

  test('is accepted by commands', async () => {
    await using app = await createTestApp()
    const typed = `\ufeff${EMAIL} `
    expect((await runCommand(app, 'user create', [typed])).outcome.email).toBe(EMAIL)
    expect((await runCommand(app, 'user show', [typed])).outcome.user.email).toBe(EMAIL)
    const listed = await runCommand(app, 'user list', [' \u200bann@'])
    expect(listed.outcome.users).toHaveLength(1)
  })

  test('does not count as verified if an identity provider sends it', async () => {
    using idp = await startIdentityProvider()
    await using app = await createTestApp({}, idp)
    const { user } = await app.register(EMAIL)
    await app.verifyEmail(EMAIL)
    const claims = { sub: 'g-1', email: `${EMAIL}\u200b`, email_verified: true, hd: 'example.com' }
    const idToken = await idp.mint('google', claims)
    const { json } = await app.ask('POST', '/api/auth/social/v1', {
      json: { provider: 'google', idToken },
    })
    expect(json.response.user._id).not.toBe(user._id)
    expect(json.response.user.emailVerified).toBe(false)
  })

  test('is refused with white space or marks inside', async () => {
    await using app = await createTestApp()
    for (const email of [
      'an n@example.com',
      'an\u200bn@example.com',
      'ann@exam\nple.com',
      ' \u200b',
    ])
      expect(
        (await app.ask('POST', REGISTER, { json: { email, password: PASSWORD } })).status,
      ).toBe(422)
  })

  test('is trimmed within milliseconds, however long it is', async () => {
    await using app = await createTestApp()
    const start = performance.now()
    for (const email of [`${' '.repeat(60_000)}x`, `a${' '.repeat(60_000)}b`, ' '.repeat(60_000)])
      expect(
        (await app.ask('POST', '/api/auth/login/v1', { json: { email, password: 'x' } })).status,
      ).toBe(422)
    expect(performance.now() - start).toBeLessThan(1_000)
  })
})

describe('null for an optional member', () => {
  test('counts as absent at a registration and a sign-in with a provider', async () => {
    using idp = await startIdentityProvider()
    await using app = await createTestApp({}, idp)
    const json = { email: EMAIL, password: PASSWORD, name: null, invitation: null }
    const registered = await app.ask('POST', REGISTER, { json })
    expect([registered.status, registered.json.response?.user.profile.name]).toEqual([200, ''])
    const idToken = await idp.mint('google', { sub: 'g-1' })
    const social = { provider: 'google', idToken, nonce: null, name: null, authorizationCode: null }
    expect((await app.ask('POST', '/api/auth/social/v1', { json: social })).status).toBe(200)
  })

  test('counts as absent when a passkey is added and signs in', async () => {
    await using app = await createApp()
    const { accessToken: token } = await app.register(EMAIL)
    const options = await creationOptions(app, token, { password: null })
    const passkey = createPasskey(ORIGIN)
    const created = asSomeDevicesSend(passkey.register(options.json.response))
    const json = { name: null, credential: created }
    expect((await app.ask('POST', PASSKEY_PATH, { token, json })).status).toBe(200)
    const request = await app.ask('POST', `${PASSKEY_PATH}/sign_in/options`)
    const credential = asSomeDevicesSend(passkey.authenticate(request.json.response))
    const signedIn = await app.ask('POST', `${PASSKEY_PATH}/sign_in`, { json: { credential } })
    expect(signedIn.status).toBe(200)
  })

  test('is still refused for a required member', async () => {
    await using app = await createTestApp()
    const json = { email: EMAIL, password: null }
    const { status, json: reply } = await app.ask('POST', REGISTER, { json })
    expect([status, reply.details]).toEqual([
      422,
      [{ path: 'password', message: expect.any(String) }],
    ])
  })
})

describe('lengths count code points', () => {
  test('a name has at most 100 of them', async () => {
    await using app = await createTestApp()
    const name = '🚢'.repeat(60)
    const json = { email: EMAIL, password: PASSWORD, name }
    const registered = await app.ask('POST', REGISTER, { json })
    expect(registered.json.response.user.profile.name).toBe(name)
    const { accessToken: token } = registered.json.response
    expect(await rename(app, token, '🚢'.repeat(100))).toEqual([200, undefined])
    const expected = {
      path: 'profile.name',
      message: 'must be text of at most 100 characters, or null',
    }
    expect(await rename(app, token, '🚢'.repeat(101))).toEqual([422, [expected]])
  })

  test('a password has at most 256 of them, and the message says so without the password', async () => {
    await using app = await createTestApp()
    const password = '🔑🚢🍎🍐'.repeat(64)
    expect((await app.ask('POST', REGISTER, { json: { email: EMAIL, password } })).status).toBe(200)
    const login = { email: EMAIL, password }
    expect((await app.ask('POST', '/api/auth/login/v1', { json: login })).status).toBe(200)
    const json = { email: 'bob@example.com', password: `${password}x` }
    const refused = await app.ask('POST', REGISTER, { json })
    expect(refused.json.details).toEqual([
      { path: 'password', message: 'must have 256 characters or fewer' },
    ])
    expect(refused.text).not.toContain('🔑')
  })

  test('a refusal of the name of a user whom a server creates gives the reason', async () => {
    await using app = await createTestApp()
    const ask = await serverClient(app)
    const refusals = [
      ['x'.repeat(101), 'must have 100 characters or fewer'],
      [7, 'must be text'],
    ]
    for (const [name, message] of refusals) {
      const { json } = await ask('POST', 'users/v1', { json: { email: EMAIL, name } })
      expect(json.details).toEqual([{ path: 'name', message }])
    }
  })
})

test('a long name from a provider is cut to 100 characters', async () => {
  using idp = await startIdentityProvider()
  await using app = await createTestApp({}, idp)
  const idToken = await idp.mint('apple', { sub: 'a-1', email: EMAIL, email_verified: 'true' })
  const json = { provider: 'apple', idToken, name: 'é'.repeat(120) }
  const { response } = (await app.ask('POST', '/api/auth/social/v1', { json })).json
  expect(response.user.profile.name).toBe('é'.repeat(100))
})

function asSomeDevicesSend({
  clientExtensionResults: _none,
  ...credential
}: Record<string, unknown>) {
  return { ...credential, authenticatorAttachment: null }
}

async function rename(app: TestApp, token: string, name: string) {
  const json = { profile: { name } }
  const { status, json: reply } = await app.ask('PATCH', '/api/user/profile/v1', { token, json })
  return [status, reply.details]
}
