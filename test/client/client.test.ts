import { describe, expect, test } from 'bun:test'
import { createTestApp, PASSWORD } from '../support/app.ts'
import { BACKENDS_AND_SEALED } from '../support/backends.ts'
import { startIdentityProvider } from '../support/identity-provider.ts'
import { clientOf } from '../support/network.ts'

const EMAIL = 'ann@example.com'
const LOGIN = { email: EMAIL, password: PASSWORD }

describe.each(BACKENDS_AND_SEALED)('$name:', ({ env, open }) => {
  test('a user registers, edits the profile, reads app data and deletes the account', async () => {
    await using app = await open()
    const { client } = clientOf(app, { env, device: 'Ann’s 📱 100 %', language: 'de' })
    const registered = await client.register({ ...LOGIN, name: 'Ann' })
    expect(registered.user.profile).toMatchObject({ name: 'Ann', locale: 'de' })
    expect((await client.readProfile()).email).toBe(EMAIL)
    expect((await client.changeProfile({ profile: { name: 'Zoë 🌊' } })).profile.name).toBe(
      'Zoë 🌊',
    )

    expect((await client.listSessions()).map(({ device }) => device)).toEqual(['Ann’s 📱 100 %'])
    expect((await client.readSubscription()).entitlements).toEqual([])
    expect((await client.readAppSettings()).hardPaywall).toBeBoolean()
    expect((await client.readPricingPlans()).length).toBeGreaterThan(0)
    expect((await client.readContentVersions()).faqs).toBeNumber()
    expect(await client.readFaqs({ lang: 'en' })).toBeArray()
    expect(await client.exportData()).toHaveProperty('user')
    await client.deleteProfile()
    expect(await client.isSignedIn()).toBe(false)
  })

  test('two-factor, guest and wrong-password results match their types', async () => {
    await using app = await open()
    const { client } = clientOf(app, { env })
    await client.startAsGuest()
    expect((await client.readProfile()).loginType).toBe('guest')
    await client.register(LOGIN)
    expect((await client.readProfile()).loginType).toBe('email')
    const { secret } = await client.setUpTwoFactor({ password: PASSWORD })
    const code = () => app.codeFor(secret)
    expect((await client.confirmTwoFactor({ code: await code() })).recoveryCodes).toHaveLength(10)
    await client.logout()
    const challenge = await client.login(LOGIN)
    if (!('challengeToken' in challenge)) throw new Error('no challenge')
    expect(await client.isSignedIn()).toBe(false)
    app.clock.advance(30_000)
    const { challengeToken } = challenge
    await client.passTwoFactor({ challengeToken, code: await code() })
    app.clock.advance(30_000)
    const renewed = await client.renewRecoveryCodes({ password: PASSWORD, code: await code() })
    expect(renewed.recoveryCodes).toHaveLength(10)
    app.clock.advance(30_000)
    await client.disableTwoFactor({ password: PASSWORD, code: await code() })
    const failure = await client
      .login({ ...LOGIN, password: 'wrong password' })
      .catch((error) => error)
    expect(failure).toMatchObject({ name: 'ApiError', status: 401, code: 'invalid_credentials' })
    const bad = await client.changeProfile({ profile: { locale: '!' } }).catch((error) => error)
    expect(bad).toMatchObject({ status: 422, details: [{ path: 'profile.locale' }] })
    expect(bad.requestId).toBeString()
  })

  test('an access token expired by the local clock is refreshed once for concurrent calls', async () => {
    await using app = await open()
    const { client, network } = clientOf(app, { env })
    await client.register(LOGIN)
    const refreshes = () => network.seen.filter((path) => path.includes('refresh')).length
    app.clock.advance(16 * 60_000)
    await Promise.all(Array.from({ length: 10 }, () => client.readProfile()))
    expect(refreshes()).toBe(1)
    expect(network.seen.filter((path) => path.includes('profile'))).toHaveLength(10)
  })

  test('if the local clock is stopped, the server reports that the token has expired', async () => {
    await using app = await open()
    const at = app.clock.now.getTime()
    const { client, network } = clientOf(app, { env, now: () => at })
    await client.register(LOGIN)
    app.clock.advance(16 * 60_000)
    await Promise.all([client.readProfile(), client.readProfile(), client.readSubscription()])
    expect(network.seen.filter((path) => path.includes('refresh'))).toHaveLength(1)
  })

  test('a refresh whose response is lost is retried and does not sign the user out', async () => {
    await using app = await open()
    const { client, network, signedOut } = clientOf(app, { env })
    await client.register(LOGIN)
    app.clock.advance(16 * 60_000)
    let lost = 0
    network.interceptor = {
      reply(reply, { url }) {
        if (url.includes('refresh') && lost++ < 1) throw new TypeError('connection reset')
        return reply
      },
    }
    expect((await client.readProfile()).email).toBe(EMAIL)
    expect([lost, signedOut.times]).toEqual([2, 0])
  })

  test('a network failure does not sign the user out; an ended session is forgotten', async () => {
    await using app = await open()
    const { client, network, signedOut } = clientOf(app, { env })
    await client.register(LOGIN)
    network.interceptor = {
      request() {
        throw new TypeError('no network')
      },
    }
    const failure = await client.readProfile().catch((error) => error)
    expect(failure).toMatchObject({ status: 0, code: 'network_error' })
    expect(await client.isSignedIn()).toBe(true)
    network.interceptor = {}
    await app.endSessions()
    const refused = await client.readProfile().catch((error) => error)
    expect(refused).toMatchObject({ status: 401, code: 'unauthenticated' })
    expect([await client.isSignedIn(), signedOut.times]).toEqual([false, 1])
  })

  test('the app is notified of an ended session once, however many calls fail', async () => {
    await using app = await open()
    const { client, signedOut } = clientOf(app, { env })
    await client.register(LOGIN)
    await app.endSessions()
    app.clock.advance(16 * 60_000)
    await Promise.allSettled(Array.from({ length: 10 }, () => client.readProfile()))
    expect(signedOut.times).toBe(1)
  })

  test('a late response for one user neither affects the next user nor signs them out', async () => {
    await using app = await open()
    const { client, network, signedOut } = clientOf(app, { env })
    await clientOf(app, { env }).client.register({ ...LOGIN, email: 'bob@example.com' })
    await client.register(LOGIN)
    await app.endSessions()
    const gate = Promise.withResolvers<void>()
    const reached = Promise.withResolvers<void>()
    network.interceptor = {
      async reply(reply) {
        reached.resolve()
        await gate.promise
        return reply
      },
    }
    const late = client.changeProfile({ profile: { name: 'Ann' } }).catch((error) => error)
    await reached.promise
    network.interceptor = {}
    await client.login({ ...LOGIN, email: 'bob@example.com' })
    gate.resolve()
    expect(await late).toMatchObject({ code: 'unauthenticated' })
    expect([await client.isSignedIn(), signedOut.times]).toEqual([true, 0])
    const { email, profile } = await client.readProfile()
    expect([email, profile.name]).toEqual(['bob@example.com', ''])
  })

  test('sign-in works without a valid session, and a failed sign-in keeps the guest', async () => {
    using world = await startIdentityProvider()
    await using app = await open({}, world)
    const { client } = clientOf(app, { env })
    await client.startAsGuest()
    const { _id } = await client.readProfile()
    const idToken = 'bad'
    const social = client.signInSocially({ provider: 'google', idToken }).catch((e) => e)
    expect((await social).status).toBe(401)
    const step = client.passTwoFactor({ challengeToken: 'old', code: '0' }).catch((e) => e)
    expect((await step).status).toBe(401)
    expect((await client.readProfile())._id).toBe(_id)
    await client.register(LOGIN)
    await app.endSessions()
    app.clock.advance(16 * 60_000)
    await client.login(LOGIN)
    expect((await client.readProfile()).email).toBe(EMAIL)
  })
})

test.each(['', null, 'null', 'undefined'])(
  'env %j sends plain requests, as if env were absent',
  async (env) => {
    await using app = await createTestApp()
    const { client, network } = clientOf(app, { env })
    let sent = ''
    network.interceptor = {
      request(request) {
        sent = request.headers.get('env') ?? ''
        return request
      },
    }
    await client.readContentVersions()
    expect(sent).toBe('test')
  },
)

test('a platform without a list of languages sends its formatting locale', async () => {
  await using app = await createTestApp()
  const { client, network } = clientOf(app, { env: 'test' })
  let sent: string | null = null
  network.interceptor = {
    request(request) {
      sent = request.headers.get('accept-language')
      return request
    },
  }
  const { navigator } = globalThis
  Object.defineProperty(globalThis, 'navigator', { value: {}, configurable: true })
  try {
    await client.readContentVersions()
  } finally {
    Object.defineProperty(globalThis, 'navigator', { value: navigator, configurable: true })
  }
  expect(String(sent)).toBe(Intl.DateTimeFormat().resolvedOptions().locale)
})
