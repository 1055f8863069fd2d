import { describe, expect, test } from 'bun:test'
import type { SignInResult } from '../../src/client/client.ts'
import { createMemoryStorage } from '../../src/client/storage.ts'
import { PASSWORD } from '../support/app.ts'
import { clientOf, codeOf, failureOf } from '../support/network.ts'
import { SCRIPTED_BACKENDS } from '../support/scripted-backends.ts'

const EMAIL = 'ann@example.com'
const LOGIN = { email: EMAIL, password: PASSWORD }
const NEW_PASSWORD = 'another good one'
const PLAIN = { env: 'test' }
const DAY_MS = 86_400_000

describe.each(SCRIPTED_BACKENDS)('$name:', ({ open }) => {
  test('links in e-mails verify the address and reset the password until they expire', async () => {
    await using app = await open()
    const { client } = clientOf(app, PLAIN)
    await client.register(LOGIN)
    const token = await app.nextToken(EMAIL)
    await client.verifyEmail({ token })
    await client.verifyEmail({ token })
    expect((await client.readProfile()).emailVerified).toBe(true)
    expect(await codeOf(client.resendVerification())).toBe('conflict')

    await client.forgotPassword({ email: 'nobody@example.com' })
    await client.forgotPassword({ email: 'ANN@example.com' })
    const reset = await app.nextToken(EMAIL)
    const weak = await failureOf(client.resetPassword({ token: reset, newPassword: 'password1' }))
    expect([weak.code, weak.message]).toEqual(['validation_failed', 'The password is too common.'])
    await client.resetPassword({ token: reset, newPassword: NEW_PASSWORD })
    expect(await codeOf(client.readProfile())).toBe('unauthenticated')
    await client.login({ email: EMAIL, password: NEW_PASSWORD })
    // A user can request only a few e-mails per hour.
    app.clock.advance(61 * 60_000)
    await client.forgotPassword({ email: EMAIL })
    const late = await app.nextToken(EMAIL)
    app.clock.advance(31 * 60_000)
    expect(await codeOf(client.resetPassword({ token: late, newPassword: NEW_PASSWORD }))).toBe(
      'unauthenticated',
    )
  })

  test('a password change signs out the other devices', async () => {
    await using app = await open()
    const [here, there] = [clientOf(app, PLAIN).client, clientOf(app, PLAIN).client]
    await here.register(LOGIN)
    await there.login(LOGIN)
    const wrong = { currentPassword: 'wrong', newPassword: NEW_PASSWORD }
    expect(await codeOf(here.changePassword(wrong))).toBe('invalid_credentials')
    const same = { currentPassword: PASSWORD, newPassword: EMAIL }
    expect(await failureOf(here.changePassword(same))).toMatchObject({
      code: 'validation_failed',
      details: [{ path: 'newPassword', message: 'must not be your address or name' }],
    })
    await here.changePassword({ currentPassword: PASSWORD, newPassword: NEW_PASSWORD })
    expect(await codeOf(there.readProfile())).toBe('unauthenticated')
    expect(await here.listSessions()).toHaveLength(1)
  })

  test('trims characters that keyboards and clipboards put around an address', async () => {
    await using app = await open()
    const { client, network } = clientOf(app, PLAIN)
    const bodies: string[] = []
    network.interceptor.request = (request) => {
      void request
        .clone()
        .text()
        .then((body) => bodies.push(body))
      return request
    }
    const typed = ` \u200e${EMAIL}\u00a0\n\ufeff`
    expect((await client.register({ ...LOGIN, email: typed })).user.email).toBe(EMAIL)
    const session = await client.login({ ...LOGIN, email: typed })
    expect('user' in session && session.user.email).toBe(EMAIL)
    expect(bodies.join('')).toContain(`"email":"${EMAIL}"`)
    expect(bodies.join('')).not.toContain('\u200e')
  })

  test('refuses invalid accounts with the same details', async () => {
    await using app = await open()
    const { client } = clientOf(app, PLAIN)
    await client.register(LOGIN)
    const refused = async (account: Parameters<typeof client.register>[0]) => {
      const { code, details } = await failureOf(clientOf(app, PLAIN).client.register(account))
      return [code, ...(details ?? []).map(({ path }) => path)]
    }
    expect(await refused({ email: 'Ann@Example.com', password: PASSWORD })).toEqual(['email_taken'])
    const both = { email: 'nobody', password: 'short' }
    expect(await refused(both)).toEqual(['validation_failed', 'email', 'password'])
    const repeated = { email: 'bob@example.com', password: 'aaaaaaaaaa' }
    expect(await refused(repeated)).toEqual(['validation_failed', 'password'])
  })

  test('two-factor: a challenge ends after five wrong codes, and a recovery code works once', async () => {
    await using app = await open()
    const { client } = clientOf(app, PLAIN)
    await client.register(LOGIN)
    const { secret } = await client.setUpTwoFactor({ password: PASSWORD })
    expect(await codeOf(client.confirmTwoFactor({ code: '000000' }))).toBe('invalid_credentials')
    const code = await app.codeFor(secret)
    const { recoveryCodes } = await client.confirmTwoFactor({ code })
    expect((await client.confirmTwoFactor({ code })).recoveryCodes).toEqual(recoveryCodes)
    expect(await codeOf(client.setUpTwoFactor({ password: PASSWORD }))).toBe('conflict')
    expect((await client.readProfile()).twoFactor).toEqual({
      enabled: true,
      methods: ['totp', 'recovery_code'],
      recoveryCodesLeft: 10,
    })
    const startLogin = async () => {
      const { challengeToken } = (await client.login(LOGIN)) as SignInResult & {
        challengeToken: string
      }
      return (code: string) => client.passTwoFactor({ challengeToken, code })
    }
    const guess = await startLogin()
    for (let at = 0; at < 5; at++) expect(await codeOf(guess('000000'))).toBe('invalid_credentials')
    expect(await codeOf(guess(recoveryCodes[0] ?? ''))).toBe('unauthenticated')
    await (await startLogin())(recoveryCodes[0]?.toUpperCase() ?? '')
    expect((await client.readProfile()).twoFactor.recoveryCodesLeft).toBe(9)
    expect(await codeOf((await startLogin())(recoveryCodes[0] ?? ''))).toBe('invalid_credentials')
    const late = await startLogin()
    app.clock.advance(5 * 60_000)
    expect(await codeOf(late(recoveryCodes[1] ?? ''))).toBe('unauthenticated')
  })

  test('a guest who becomes an account is signed out on other devices', async () => {
    await using app = await open()
    const storage = createMemoryStorage()
    const { client } = clientOf(app, { ...PLAIN, storage })
    await client.startAsGuest()
    const copy = createMemoryStorage()
    await copy.setItem('homeport.session', String(storage.getItem('homeport.session')))
    const { client: thief } = clientOf(app, { ...PLAIN, storage: copy })
    await client.register({ email: EMAIL, password: PASSWORD })
    expect(await codeOf(thief.readProfile())).toBe('unauthenticated')
    expect((await client.readProfile()).email).toBe(EMAIL)
  })

  test('social sign-in creates and links accounts', async () => {
    await using app = await open()
    const { client } = clientOf(app, PLAIN)
    const signIn = async (email: string, emailVerified = true, other = client) => {
      const idToken = await app.issueIdToken('google', { email, emailVerified })
      const result = await other.signInSocially({ provider: 'google', idToken })
      return 'user' in result ? result.user : null
    }
    const guest = await client.startAsGuest()
    const created = await signIn('ann@gmail.com')
    expect(created).toMatchObject({ _id: guest.user._id, loginType: 'google', emailVerified: true })
    await client.logout()
    expect((await signIn('ann@gmail.com'))?._id).toBe(guest.user._id)
    await client.logout()

    const { user } = await client.register({ email: 'bob@gmail.com', password: PASSWORD })
    await client.logout()
    const stranger = await signIn('bob@gmail.com', false)
    expect([stranger?._id === user._id, stranger?.emailVerified]).toEqual([false, false])
    await client.logout()
    await client.login({ email: 'bob@gmail.com', password: PASSWORD })
    await client.verifyEmail({ token: await app.nextToken('bob@gmail.com') })
    const carl = clientOf(app, PLAIN).client
    expect((await signIn('BOB@gmail.com', true, carl))?._id).toBe(user._id)
  })

  test('an e-mailed code signs in once, until it expires, and creates the account', async () => {
    await using app = await open()
    const { client } = clientOf(app, PLAIN)
    const { user: guest } = await client.startAsGuest()
    const ask = async (email = EMAIL) => {
      const { requestToken, expiresIn } = await client.requestEmailCode({ email })
      expect(expiresIn).toBe(600)
      return { requestToken, code: await app.nextCode(email) }
    }
    const wrong = ({ requestToken, code }: { requestToken: string; code: string }) => ({
      requestToken,
      code: code === '000000' ? '111111' : '000000',
    })
    const first = await ask()
    expect(await codeOf(client.signInWithEmailCode(wrong(first)))).toBe('invalid_credentials')
    const signedIn = await client.signInWithEmailCode({ ...first, name: 'Ann' })
    expect('user' in signedIn && signedIn.user).toMatchObject({
      _id: guest._id,
      loginType: 'email',
      email: EMAIL,
      emailVerified: true,
      profile: { name: 'Ann' },
    })
    expect(await codeOf(client.signInWithEmailCode(first))).toBe('invalid_credentials')
    await client.logout()
    const earlier = await ask()
    const guessed = await ask()
    const typed = { ...earlier, code: ` ${earlier.code.slice(0, 3)} ${earlier.code.slice(3)}` }
    expect(await codeOf(client.signInWithEmailCode(typed))).toBe('ok')
    await client.logout()
    for (let at = 0; at < 5; at++)
      expect(await codeOf(client.signInWithEmailCode(wrong(guessed)))).toBe('invalid_credentials')
    expect(await codeOf(client.signInWithEmailCode(guessed))).toBe('invalid_credentials')
    app.clock.advance(61 * 60_000)
    const late = await ask()
    app.clock.advance(10 * 60_000)
    expect(await codeOf(client.signInWithEmailCode(late))).toBe('invalid_credentials')
    expect(await codeOf(client.signInWithEmailCode(await ask()))).toBe('ok')
    // For a user without a password, a recent sign-in is the proof.
    expect(await codeOf(client.setUpTwoFactor({}))).toBe('ok')
    app.clock.advance(11 * 60_000)
    expect(await codeOf(client.setUpTwoFactor({}))).toBe('recent_sign_in_required')
  })

  test('a code takes over an account with an unverified address', async () => {
    await using app = await open()
    const [stranger, owner] = [clientOf(app, PLAIN).client, clientOf(app, PLAIN).client]
    const { user } = await stranger.register(LOGIN)
    const { requestToken } = await owner.requestEmailCode({ email: EMAIL })
    const result = await owner.signInWithEmailCode({
      requestToken,
      code: await app.nextCode(EMAIL),
    })
    expect('user' in result && result.user._id).toBe(user._id)
    expect(await codeOf(stranger.readProfile())).toBe('unauthenticated')
    expect(await codeOf(stranger.login(LOGIN))).toBe('invalid_credentials')
  })

  test('a refresh token that is used again too late ends the session', async () => {
    await using app = await open()
    const { client, network } = clientOf(app, PLAIN)
    const { refreshToken } = await client.register(LOGIN)
    const refresh = async (token: string) => {
      const reply = await network.fetch('http://localhost/api/auth/refresh/v1', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ refreshToken: token }),
      })
      const { code, response } = (await reply.json()) as {
        code: string
        response?: { refreshToken: string }
      }
      return [code, response?.refreshToken]
    }
    const [, second] = await refresh(refreshToken)
    expect(await refresh(refreshToken)).toEqual(['ok', second])
    app.clock.advance(1_000)
    await refresh(second ?? '')
    app.clock.advance(59_000)
    expect(await refresh(refreshToken)).toEqual(['ok', second])
    app.clock.advance(2_000)
    expect(await refresh(refreshToken)).toEqual(['unauthenticated', undefined])
    expect(app.hasDetectedReuse()).toBe(true)
    expect(await codeOf(client.readProfile())).toBe('unauthenticated')
  })

  test('sessions end when unused, and a year after the sign-in', async () => {
    await using app = await open()
    const { client } = clientOf(app, PLAIN)
    await client.register(LOGIN)
    for (let at = 0; at < 7; at++) {
      app.clock.advance(50 * DAY_MS)
      await client.readProfile()
    }
    app.clock.advance(15 * DAY_MS)
    expect(await codeOf(client.readProfile())).toBe('unauthenticated')
    await client.login(LOGIN)
    app.clock.advance(60 * DAY_MS)
    expect(await codeOf(client.readProfile())).toBe('unauthenticated')
  })
})
