import { describe, expect, test } from 'bun:test'
import { TOTP } from 'totp-generator'
import { createTestApp, PASSWORD, type TestApp } from '../../support/app.ts'
import { deliver, purchase, T0 } from '../../support/billing.ts'
import { startIdentityProvider } from '../../support/identity-provider.ts'

const LOGIN = { email: 'ann@example.com', password: PASSWORD }
const FIRST_STEP = '/api/auth/login/v1'
const SECOND_STEP = '/api/auth/login/v1/two_factor'

describe('a guest who signs in to an existing account', () => {
  test('keeps their files and purchases', async () => {
    await using app = await startApp()
    const ann = await app.register(LOGIN.email)
    const guest = await startGuest(app)
    const signedIn = await app.ask('POST', FIRST_STEP, { json: LOGIN, token: guest.token })
    expect(signedIn.json.response.user._id).toBe(ann.user._id)
    expect(await readAssets(app, signedIn.json.response.accessToken)).toEqual(['notes.txt', 'pro'])
    expect(await isSignedIn(app, guest.token)).toBe(false)
  })

  test('stays a guest after a wrong password', async () => {
    await using app = await startApp()
    await app.register(LOGIN.email)
    const guest = await startGuest(app)
    const json = { ...LOGIN, password: 'not this one' }
    expect((await app.ask('POST', FIRST_STEP, { json, token: guest.token })).status).toBe(401)
    expect(await readAssets(app, guest.token)).toEqual(['notes.txt', 'pro'])
  })

  test.each(['first', 'second'])(
    'is merged in the second step if the %s step sends the guest’s token',
    async (stepWithToken) => {
      await using app = await startApp()
      const ann = await withTwoFactor(app, await app.register(LOGIN.email))
      const guest = await startGuest(app)
      const isFirst = stepWithToken === 'first'
      const [first, second] = isFirst ? [{ token: guest.token }] : [{}, guest]
      const challenge = await app.ask('POST', FIRST_STEP, { json: LOGIN, ...first })
      const { challengeToken } = challenge.json.response
      const wrong = { challengeToken, code: '000000' }
      expect((await app.ask('POST', SECOND_STEP, { json: wrong, ...second })).status).toBe(401)
      expect(await readAssets(app, guest.token)).toEqual(['notes.txt', 'pro'])
      const json = { challengeToken, code: await ann.code() }
      const passed = await app.ask('POST', SECOND_STEP, { json, ...second })
      expect(passed.json.response.user._id).toBe(ann.user._id)
      expect(await readAssets(app, passed.json.response.accessToken)).toEqual(['notes.txt', 'pro'])
      expect(await isSignedIn(app, guest.token)).toBe(false)
    },
  )

  test('with Google is merged in the second step too', async () => {
    using identityProvider = await startIdentityProvider()
    await using app = await startApp(identityProvider)
    const registered = await app.register(LOGIN.email)
    const claims = { sub: 'g-1', email: LOGIN.email, email_verified: true, hd: 'example.com' }
    const social = async (token: string) => {
      const json = { provider: 'google', idToken: await identityProvider.mint('google', claims) }
      return (await app.ask('POST', '/api/auth/social/v1', { json, token })).json.response
    }
    await verifyEmail(app)
    await social(registered.accessToken)
    const ann = await withTwoFactor(app, registered)
    const guest = await startGuest(app)
    const { challengeToken } = await social(guest.token)
    expect(await readAssets(app, guest.token)).toEqual(['notes.txt', 'pro'])
    const json = { challengeToken, code: await ann.code() }
    const passed = await app.ask('POST', SECOND_STEP, { json })
    expect(await readAssets(app, passed.json.response.accessToken)).toEqual(['notes.txt', 'pro'])
  })
})

test('a tampered challenge token does not merge another guest', async () => {
  await using app = await startApp()
  const ann = await withTwoFactor(app, await app.register(LOGIN.email))
  const [mine, other] = [await startGuest(app), await startGuest(app)]
  const challenge = await app.ask('POST', FIRST_STEP, { json: LOGIN, token: mine.token })
  const challengeToken = challenge.json.response.challengeToken.replace(mine.id, other.id)
  expect(challengeToken).toContain(other.id)
  const json = { challengeToken, code: await ann.code() }
  expect((await app.ask('POST', SECOND_STEP, { json })).status).toBe(401)
  expect(await isSignedIn(app, other.token)).toBe(true)
})

test('does not merge a full user who signs in to another account, and ignores a bad token', async () => {
  await using app = await startApp()
  await app.register(LOGIN.email)
  const bob = await app.register('bob@example.com')
  const token = bob.accessToken
  expect((await app.ask('POST', FIRST_STEP, { json: LOGIN, token })).status).toBe(200)
  expect(await isSignedIn(app, token)).toBe(true)
  expect((await app.ask('POST', FIRST_STEP, { json: LOGIN, token: 'x' })).status).toBe(200)
})

async function startApp(options: Parameters<typeof createTestApp>[1] = {}) {
  const app = await createTestApp({}, options)
  app.clock.now = new Date(T0)
  return app
}

/** A guest with a file and a purchase. */
async function startGuest(app: TestApp) {
  const { json } = await app.ask('POST', '/api/auth/guest/v1')
  const { accessToken: token, user } = json.response
  await deliver(app, purchase(user._id, { original_transaction_id: user._id }))
  const form = new FormData()
  form.append('file', new File(['text'], 'notes.txt', { type: 'text/plain' }))
  const request = new Request('http://localhost/api/user/attachments/v1?type=supportTicket', {
    method: 'POST',
    headers: { authorization: `Bearer ${token}` },
    body: form,
  })
  expect((await app.app.handle(request)).status).toBe(200)
  return { token: token as string, id: user._id as string }
}

/** The names of a user's files and the ids of the user's entitlements. */
async function readAssets(app: TestApp, token: string): Promise<string[]> {
  const files = await app.ask('GET', '/api/user/attachments/v1', { token })
  const paid = await app.ask('GET', '/api/user/subscription/v1', { token })
  return [
    ...files.json.response.map(({ fileName }: { fileName: string }) => fileName),
    ...paid.json.response.entitlements.map(({ id }: { id: string }) => id),
  ]
}

async function isSignedIn(app: TestApp, token: string): Promise<boolean> {
  return (await app.ask('GET', '/api/user/profile/v1', { token })).status === 200
}

type Registered = { accessToken: string; user: { _id: string } }

/** Turns two-factor on. `code` returns a code for the next sign-in. */
async function withTwoFactor(app: TestApp, { accessToken: token, user }: Registered) {
  const path = '/api/auth/two_factor/v1'
  const setUp = await app.ask('POST', path, { token, json: { password: PASSWORD } })
  const { secret } = setUp.json.response
  const code = async () => {
    app.clock.advance(30_000)
    return (await TOTP.generate(secret, { timestamp: app.clock.now.getTime() })).otp
  }
  await app.ask('POST', `${path}/confirm`, { token, json: { code: await code() } })
  return { user, code }
}

async function verifyEmail({ services: { db } }: TestApp) {
  const { users } = db.tables
  await db.write(async (tx) => void (await tx.update(users).set({ emailVerifiedAt: new Date(T0) })))
}
