import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { createTestApp, PASSWORD, type TestApp } from '../../support/app.ts'
import { startIdentityProvider } from '../../support/identity-provider.ts'
import { startSmtp, tokenIn } from '../../support/smtp.ts'

type Smtp = Awaited<ReturnType<typeof startSmtp>>

const ANN = { sub: 'g-1', email: 'ann@example.com', email_verified: true }

/** Claims from a provider, and whether they prove who owns the address today. */
const CLAIMS: [string, 'google' | 'oidc', Record<string, unknown>, boolean][] = [
  ['of a domain that Google does not run', 'google', ANN, false],
  ['of a Workspace domain', 'google', { ...ANN, hd: 'example.com' }, true],
  ['of gmail.com', 'google', { ...ANN, email: 'ann@gmail.com' }, true],
  ['whose domain only ends in gmail.com', 'google', { ...ANN, email: 'ann@notgmail.com' }, false],
  ['whose Workspace is not a string', 'google', { ...ANN, hd: ['example.com'] }, false],
  [
    'whose verified flag is a list',
    'google',
    { ...ANN, hd: 'example.com', email_verified: [true] },
    false,
  ],
  ['of another domain', 'oidc', ANN, false],
  ['of its domain', 'oidc', { ...ANN, email: 'ann@acme.test' }, true],
  ['of its domain, in capitals', 'oidc', { ...ANN, email: 'Ann@ACME.TEST' }, true],
  ['of a subdomain', 'oidc', { ...ANN, email: 'ann@a.acme.test' }, false],
  ['whose domain only ends in its domain', 'oidc', { ...ANN, email: 'ann@notacme.test' }, false],
  ['with the claim of a Workspace', 'oidc', { ...ANN, hd: 'example.com' }, false],
  [
    'that it has not verified',
    'oidc',
    { ...ANN, email: 'ann@acme.test', email_verified: false },
    false,
  ],
  ['of gmail.com', 'oidc', { ...ANN, email: 'ann@gmail.com' }, false],
]

test.each(CLAIMS)(
  'links an account by an address %s, from %s, only if the provider owns it: %#',
  async (_name, provider, claims, isLinked) => {
    using idp = await startIdentityProvider()
    await using app = await createTestApp(idp.openId, idp)
    const owner = await registerVerified(app, String(claims['email']))
    const idToken = await idp.mint(provider, claims)
    const signedIn = await social(app, idToken, undefined, provider)
    expect(signedIn.status).toBe(200)
    expect(signedIn.json.response.user._id === owner.user._id).toBe(isLinked)
  },
)

test('a signed-in user can link any verified address', async () => {
  using idp = await startIdentityProvider()
  await using app = await createTestApp({}, idp)
  const owner = await registerVerified(app, ANN.email)
  const other = await app.register('bob@example.com')
  const idToken = await idp.mint('google', ANN)
  const stranger = await social(app, idToken, other.accessToken)
  expect(stranger.json.response.user._id).not.toBe(owner.user._id)
  const again = await idp.mint('google', { ...ANN, sub: 'g-2' })
  const linked = await social(app, again, owner.accessToken)
  expect(linked.json.response.user._id).toBe(owner.user._id)
})

test('notifies the owner about a linked provider; a reset undoes a stranger’s setup', async () => {
  using idp = await startIdentityProvider()
  await using smtp = await startSmtp()
  await using app = await createTestApp({ SMTP_URL: smtp.url }, idp)
  const stranger = await app.register('ann@gmail.com')
  const mail = await smtp.next('ann@gmail.com')
  expect(mail.text.replace(/\s+/g, ' ')).toContain(
    'If you did not create an account, do not confirm',
  )
  const verify = { json: { token: tokenIn(mail) } }
  expect((await app.ask('POST', '/api/auth/email/v1/verify', verify)).status).toBe(200)
  const idToken = await idp.mint('google', { ...ANN, email: 'ann@gmail.com' })
  expect((await social(app, idToken)).json.response.user._id).toBe(stranger.user._id)
  const notice = await smtp.next('ann@gmail.com')
  expect(notice.text.replace(/\s+/g, ' ')).toContain(
    'You can now also sign in to your account with Google',
  )

  await app.ask('POST', '/api/auth/password/v1/forgot', { json: { email: 'ann@gmail.com' } })
  const token = tokenIn(await smtp.next('ann@gmail.com'))
  const json = { token, newPassword: 'another good one' }
  expect((await app.ask('POST', '/api/auth/password/v1/reset', { json })).status).toBe(200)
  const { accessToken } = stranger
  expect((await app.ask('GET', '/api/user/profile/v1', { token: accessToken })).status).toBe(401)
  const login = { email: 'ann@gmail.com', password: PASSWORD }
  expect((await app.ask('POST', '/api/auth/login/v1', { json: login })).status).toBe(401)
})

test('the owner of an address that Google does not own can reclaim it by e-mail', async () => {
  using idp = await startIdentityProvider()
  await using smtp = await startSmtp()
  await using app = await createTestApp({ SMTP_URL: smtp.url }, idp)
  const stranger = (await social(app, await idp.mint('google', ANN))).json.response
  expect(stranger.user.emailVerified).toBe(false)
  expect((await smtp.next(ANN.email)).text.replace(/\s+/g, ' ')).toContain('do not confirm')
  await resetByMail(app, smtp, ANN.email)
  expect(await signInForId(app, await idp.mint('google', ANN))).not.toBe(stranger.user._id)
})

/** Links of an account with a verified address, and whether a reset by e-mail removes them. */
const LINKS: [string, 'google' | 'apple' | 'oidc', string, string, boolean][] = [
  ['by an address that Google does not own', 'google', 'ann@example.com', 'ann@example.com', true],
  ['by an address that Google owns', 'google', 'Ann@Gmail.com', 'ann@gmail.com', false],
  ['from Apple', 'apple', 'ann@example.com', 'ann@example.com', false],
  ['from Google, by another address', 'google', 'bob@gmail.com', 'ann@example.com', true],
  ['from Apple, by another address', 'apple', 'bob@example.com', 'ann@example.com', true],
  ['by an address that the provider owns', 'oidc', 'Ann@acme.test', 'ann@acme.test', false],
  ['by an address that it does not own', 'oidc', 'ann@example.com', 'ann@example.com', true],
  ['by another address that it owns', 'oidc', 'bob@acme.test', 'ann@acme.test', true],
]

test.each(LINKS)(
  'a reset by e-mail removes links that do not prove the address: %s',
  async (_name, provider, linked, email, isRemoved) => {
    using idp = await startIdentityProvider()
    await using smtp = await startSmtp()
    await using app = await createTestApp({ ...idp.openId, SMTP_URL: smtp.url }, idp)
    const claims = { ...ANN, email: linked }
    const stranger = await signInForId(app, await idp.mint(provider, claims), provider)
    const { db } = app.services
    const { users } = db.tables
    await db.write(async (tx) => {
      // Earlier releases trusted any provider, even after a change of address.
      const changes = { email, emailKey: email.toLowerCase(), emailVerifiedAt: app.clock.now }
      await tx.update(users).set(changes).where(eq(users.id, stranger))
    })
    await resetByMail(app, smtp, email)
    const again = await signInForId(app, await idp.mint(provider, claims), provider)
    expect(again !== stranger).toBe(isRemoved)
  },
)

test.each([
  ['signs in with it once it is verified', false, 200],
  ['does not verify it while another account has it', true, 409],
])('an account whose provider has not verified its address %s', async (_name, isTaken, status) => {
  using idp = await startIdentityProvider()
  await using smtp = await startSmtp()
  await using app = await createTestApp({ SMTP_URL: smtp.url }, idp)
  const idToken = await idp.mint('google', { ...ANN, email_verified: false })
  const { accessToken: token, user } = (await social(app, idToken)).json.response
  if (isTaken) await registerVerified(app, ANN.email)
  if (isTaken) await smtp.next(ANN.email)
  await app.ask('POST', '/api/auth/email/v1/resend', { token })
  const link = { token: tokenIn(await smtp.next(ANN.email)) }
  expect((await app.ask('POST', '/api/auth/email/v1/verify', { json: link })).status).toBe(status)
  const found = await app.services.users.directory.findByEmail(ANN.email)
  expect(found?.id === user._id).toBe(!isTaken)
})

test('Google links a Workspace address again after a reset by e-mail', async () => {
  using idp = await startIdentityProvider()
  await using smtp = await startSmtp()
  await using app = await createTestApp({ SMTP_URL: smtp.url }, idp)
  const claims = { ...ANN, hd: 'example.com' }
  const owner = (await social(app, await idp.mint('google', claims))).json.response
  expect(owner.user.emailVerified).toBe(true)
  await resetByMail(app, smtp, ANN.email)
  expect(await signInForId(app, await idp.mint('google', claims))).toBe(owner.user._id)
})

test('limits refused id tokens per IP address, but not valid ones or provider outages', async () => {
  using idp = await startIdentityProvider()
  await using app = await createTestApp({}, idp)
  const good = await idp.mint('google', ANN)
  for (let at = 0; at < 99; at++) expect((await social(app, 'forged')).status).toBe(401)
  for (let at = 0; at < 3; at++) expect((await social(app, good)).status).toBe(200)
  expect((await social(app, 'forged')).status).toBe(401)
  const limited = await social(app, good)
  expect([limited.status, Number(limited.headers.get('retry-after')) > 0]).toEqual([429, true])
  app.clock.advance(5 * 60_000)
  expect((await social(app, await idp.mint('google', ANN, { at: app.clock.now }))).status).toBe(200)
})

async function registerVerified(app: TestApp, email: string) {
  const owner = await app.register(email)
  const { users } = app.services
  await users.directory.setEmailVerified(await users.directory.find(owner.user._id), true)
  return owner
}

/** Sets a password by e-mail, and signs in with it. */
async function resetByMail(app: TestApp, smtp: Smtp, email: string) {
  await app.ask('POST', '/api/auth/password/v1/forgot', { json: { email } })
  let mail = await smtp.next(email)
  while (!mail.text.includes('/reset?token=')) mail = await smtp.next(email)
  const json = { token: tokenIn(mail), newPassword: 'another good one' }
  expect((await app.ask('POST', '/api/auth/password/v1/reset', { json })).status).toBe(200)
  const login = { json: { email, password: json.newPassword } }
  expect((await app.ask('POST', '/api/auth/login/v1', login)).status).toBe(200)
}

async function signInForId(app: TestApp, idToken: string, provider = 'google'): Promise<string> {
  const signedIn = await social(app, idToken, undefined, provider)
  expect(signedIn.status).toBe(200)
  return signedIn.json.response.user._id
}

function social(app: TestApp, idToken: string, token?: string, provider = 'google') {
  const json = { provider, idToken }
  return app.ask('POST', '/api/auth/social/v1', { json, ...(token ? { token } : {}) })
}
