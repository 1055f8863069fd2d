import { describe, expect, test } from 'bun:test'
import { executeCommand, type ServiceCommand } from '../../../src/cli/command.ts'
import { commands } from '../../../src/cli/commands.ts'
import { createTestApp, PASSWORD } from '../../support/app.ts'
import { startIdentityProvider } from '../../support/identity-provider.ts'
import { createPasskey } from '../../support/passkey.ts'
import { type ReceivedMail, startSmtp, tokenIn } from '../../support/smtp.ts'

const EMAIL = 'ann@example.com'
const BASE = { BASE_URL: 'https://api.example.com' }

async function setUp(mode: string, environment: Record<string, string> = {}) {
  const smtp = await startSmtp()
  const identityProvider = await startIdentityProvider()
  const app = await createTestApp(
    { ...BASE, SMTP_URL: smtp.url, SIGN_UP: mode, ...environment },
    { providers: identityProvider.providers },
  )
  return {
    app,
    smtp,
    identityProvider,
    invite: (email = EMAIL) => app.services.users.signUp.invite(email, 'en'),
    async [Symbol.asyncDispose]() {
      await app[Symbol.asyncDispose]()
      identityProvider[Symbol.dispose]()
      await smtp[Symbol.asyncDispose]()
    },
  }
}

type SetUp = Awaited<ReturnType<typeof setUp>>

function register({ app }: SetUp, email = EMAIL, invitation?: string) {
  return app.ask('POST', '/api/auth/register/v1', {
    json: { email, password: PASSWORD, ...(invitation === undefined ? {} : { invitation }) },
  })
}

async function signInWithGoogle({ app, identityProvider }: SetUp, email = EMAIL) {
  const claims = { sub: email, email, email_verified: true }
  const idToken = await identityProvider.mint('google', claims)
  return app.ask('POST', '/api/auth/social/v1', { json: { provider: 'google', idToken } })
}

/** Requests a code, and signs in with it if one arrives. */
async function signInByCode({ app, smtp }: SetUp, email = EMAIL) {
  const { json } = await app.ask('POST', '/api/auth/email_code/v1', { json: { email } })
  const mail: ReceivedMail = await smtp.next(email)
  const code = /\b\d{6}\b/.exec(mail.text)?.[0]
  const { requestToken } = json.response
  const reply = await app.ask('POST', '/api/auth/email_code/v1/verify', {
    json: { requestToken, code: code ?? '000000' },
  })
  return { mail, hasCode: code !== undefined, reply }
}

type SignUp = (setup: SetUp) => Promise<{ status: number; json: { code: string } }>

/** Every way to create an account, for a user without an invitation token. */
const WAYS: Record<string, SignUp> = {
  'with a password': (setup) => register(setup),
  'as a guest': ({ app }) => app.ask('POST', '/api/auth/guest/v1'),
  'with a provider': (setup) => signInWithGoogle(setup),
}

describe.each(['off', 'invite'])('with SIGN_UP=%s', (mode) => {
  test.each(Object.keys(WAYS))('refuses to create an account %s', async (way) => {
    await using setup = await setUp(mode)
    const { status, json } = (await WAYS[way]?.(setup)) ?? { status: 0, json: { code: '' } }
    expect([status, json.code]).toEqual([403, 'sign_up_closed'])
    const { db } = setup.app.services
    expect(await db.read.$count(db.tables.users)).toBe(0)
  })

  test('an unknown address gets an e-mail without a code', async () => {
    await using setup = await setUp(mode)
    const { mail, hasCode, reply } = await signInByCode(setup)
    expect([hasCode, reply.status]).toEqual([false, 401])
    expect(mail.text).toContain('it has no account')
  })

  test('not even the right code creates an account', async () => {
    await using setup = await setUp(mode)
    const { json } = await setup.app.ask('POST', '/api/auth/email_code/v1', {
      json: { email: EMAIL },
    })
    const { requestToken } = json.response
    const code = setup.app.services.users.emailCodes.deriveCode(requestToken)
    const reply = await setup.app.ask('POST', '/api/auth/email_code/v1/verify', {
      json: { requestToken, code },
    })
    expect([reply.status, reply.json.code]).toEqual([401, 'invalid_credentials'])
  })

  test('an account that an operator created signs in with a code', async () => {
    await using setup = await setUp(mode)
    const defaults = { name: '', locale: 'en', timezone: 'utc', emailVerified: false }
    const login = { email: EMAIL, password: null, ...defaults }
    const { id } = await setup.app.services.users.passwordLogin.create(login)
    const { reply } = await signInByCode(setup)
    expect([reply.status, reply.json.response.user._id]).toEqual([200, id])
  })

  test('an existing guest cannot become an account', async () => {
    await using setup = await setUp(mode)
    const { accounts, signIn } = setup.app.services.users
    const device = { name: 'ios', sealed: false, platform: null, country: null }
    const grant = await setup.app.services.db.write(async (tx) => {
      const guest = await accounts.create(tx, 'guest', { name: '', locale: 'en', timezone: 'utc' })
      return signIn.openSession(tx, guest, device)
    })
    const { accessToken: token } = await signIn.toSessionReply(grant, '')
    const registered = await setup.app.ask('POST', '/api/auth/register/v1', {
      token,
      json: { email: EMAIL, password: PASSWORD },
    })
    const path = '/api/auth/passkey/v1'
    const { json } = await setup.app.ask('POST', `${path}/options`, { token, json: {} })
    const credential = createPasskey(BASE.BASE_URL).register(json.response)
    const withPasskey = await setup.app.ask('POST', path, { token, json: { credential } })
    expect([registered.status, withPasskey.status]).toEqual([403, 403])
  })
})

describe('an invitation', () => {
  test('lets its address sign up with a code, once', async () => {
    await using setup = await setUp('invite')
    await setup.invite()
    await setup.smtp.next(EMAIL)
    const { reply } = await signInByCode(setup)
    expect(reply.json.response.user).toMatchObject({ email: EMAIL, emailVerified: true })
    await setup.app.ask('DELETE', '/api/user/profile/v1', {
      token: reply.json.response.accessToken,
    })
    expect((await signInByCode(setup)).hasCode).toBe(false)
  })

  test('lets its address sign up with a provider', async () => {
    await using setup = await setUp('invite')
    await setup.invite()
    expect((await signInWithGoogle(setup)).status).toBe(200)
    expect((await signInWithGoogle(setup, 'bea@example.com')).status).toBe(403)
  })

  test('contains a token for registering with a password, which proves the address', async () => {
    await using setup = await setUp('invite', { APP_LINK_URL: 'myapp://auth' })
    await setup.invite()
    const mail = await setup.smtp.next(EMAIL)
    expect(mail.text).toContain('myapp://auth/invitation?token=')
    expect((await register(setup)).status).toBe(403)
    expect((await register(setup, 'bea@example.com', tokenIn(mail))).status).toBe(403)
    const { status, json } = await register(setup, EMAIL, tokenIn(mail))
    expect([status, json.response.user.emailVerified]).toEqual([200, true])
    expect((await register(setup, EMAIL, tokenIn(mail))).status).toBe(403)
  })

  test('contains an https link besides the app link, to a page that opens the app', async () => {
    await using setup = await setUp('invite', { APP_LINK_URL: 'myapp://auth' })
    await setup.invite()
    const mail = await setup.smtp.next(EMAIL)
    const token = tokenIn(mail)
    expect(mail.text).toContain(`https://api.example.com/auth/invitation?token=${token}`)
    const path = `/auth/invitation?token=${token}`
    const page = await setup.app.ask('GET', `${path}&utm_source=mail`)
    expect(page.text).toContain(`href="myapp://auth/invitation?token=${token}"`)
    expect((await setup.app.ask('GET', `${path}x`)).status).toBe(401)
    expect((await register(setup, EMAIL, token)).status).toBe(200)
    expect((await setup.app.ask('GET', path)).status).toBe(401)
  })

  test('expires after seven days, and is replaced by a newer one', async () => {
    await using setup = await setUp('invite', { APP_LINK_URL: 'myapp://auth' })
    await setup.invite()
    const old = tokenIn(await setup.smtp.next(EMAIL))
    await setup.invite()
    const token = tokenIn(await setup.smtp.next(EMAIL))
    expect((await register(setup, EMAIL, old)).status).toBe(403)
    setup.app.clock.advance(7 * 24 * 60 * 60_000)
    expect((await register(setup, EMAIL, token)).status).toBe(403)
    expect((await signInByCode(setup)).hasCode).toBe(false)
  })

  test('is in the audit log, but its address is in no log', async () => {
    await using setup = await setUp('invite')
    const { services, lines } = setup.app
    const command = commands.find(({ name }) => name === 'users invite') as ServiceCommand
    await executeCommand(command, services, { email: EMAIL, locale: 'en' }, 'root')
    const [entry] = (await services.operators.audit.list({})).entries
    expect(entry).toMatchObject({ action: 'users.invite', operator: null })
    expect(lines.join('') + JSON.stringify(entry)).not.toContain(EMAIL)
  })

  test('is not sent to an existing account, or unless sign-up requires one', async () => {
    await using invited = await setUp('invite')
    await invited.invite()
    await invited.smtp.next(EMAIL)
    await signInByCode(invited)
    expect(invited.invite()).rejects.toThrow('Another account has this e-mail address.')
    await using open = await setUp('on')
    expect(open.invite()).rejects.toThrow('everyone can sign up')
    await using closed = await setUp('off')
    expect(closed.invite()).rejects.toThrow('sign-up is closed')
    expect(invited.invite('not an address')).rejects.toThrow('Some fields are invalid.')
  })
})
