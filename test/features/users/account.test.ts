import { expect, test } from 'bun:test'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { PASSWORD_COSTS } from '../../../src/lib/passwords/passwords.ts'
import { createTestApp, PASSWORD, type TestApp } from '../../support/app.ts'
import { fault } from '../../support/fault.ts'
import { startSmtp, tokenIn } from '../../support/smtp.ts'

const NEW_PASSWORD = 'another good one'
const BASE = { BASE_URL: 'https://api.example.com', MAIL_FROM: 'App <app@example.com>' }

test('a new account gets an e-mail in its language, whose link confirms the address', async () => {
  await using smtp = await startSmtp()
  await using app = await createTestApp({ ...BASE, SMTP_URL: smtp.url })
  await app.register('ann@example.com', { 'accept-language': 'de-AT' })
  const mail = await smtp.next('ann@example.com')
  expect(mail.text).toContain('Bitte bestätige, dass diese Adresse dir gehört')
  expect(mail.text).toContain('https://api.example.com/auth/verify?token=')
  expect(mail.raw).toContain('From: App <app@example.com>')
  expect(mail.raw).toContain('Auto-Submitted: auto-generated')
  const token = tokenIn(mail)
  expect(await isVerified(app, 'ann@example.com')).toBe(false)
  expect((await post(app, 'email/v1/verify', { token })).status).toBe(200)
  expect(await isVerified(app, 'ann@example.com')).toBe(true)
  const again = await post(app, 'email/v1/verify', { token })
  expect([again.status, again.json.message]).toEqual([200, 'The address is already confirmed.'])
})

test('e-mails link to the app’s deep link if there is one, and never to the Host of a request', async () => {
  await using smtp = await startSmtp()
  await using app = await createTestApp({ SMTP_URL: smtp.url, APP_LINK_URL: 'myapp://open/' })
  await app.register('ann@example.com', { host: 'evil.example' })
  const { text } = await smtp.next('ann@example.com')
  expect(text).toContain('myapp://open/auth/verify?token=')
  expect(text).not.toContain('evil.example')
})

test('a confirmation link is valid for 24 hours, and a new one replaces it', async () => {
  await using smtp = await startSmtp()
  await using app = await createTestApp({ ...BASE, SMTP_URL: smtp.url })
  const { accessToken } = await app.register('ann@example.com')
  const first = tokenIn(await smtp.next('ann@example.com'))
  expect((await post(app, 'email/v1/resend', undefined, accessToken)).status).toBe(200)
  const second = tokenIn(await smtp.next('ann@example.com'))
  expect((await post(app, 'email/v1/verify', { token: first })).status).toBe(401)
  app.clock.advance(24 * 3_600_000 + 1)
  expect((await post(app, 'email/v1/verify', { token: second })).status).toBe(401)
})

test(`a reset request gets the same response for any address; its link works once ${fault(59)}`, async () => {
  await using smtp = await startSmtp()
  await using app = await createTestApp({ ...BASE, SMTP_URL: smtp.url })
  const { accessToken, refreshToken } = await app.register('ann@example.com')
  await smtp.next('ann@example.com')
  const known = await post(app, 'password/v1/forgot', { email: 'Ann@Example.com' })
  const unknown = await post(app, 'password/v1/forgot', { email: 'bob@example.com' })
  expect([known.status, known.text]).toEqual([200, unknown.text])
  const token = tokenIn(await smtp.next('ann@example.com'))
  expect(smtp.mails).toEqual([])

  const weak = await post(app, 'password/v1/reset', { token, newPassword: 'password1' })
  expect(weak.status).toBe(422)
  expect((await post(app, 'password/v1/reset', { token, newPassword: NEW_PASSWORD })).status).toBe(
    200,
  )
  expect((await post(app, 'password/v1/reset', { token, newPassword: NEW_PASSWORD })).status).toBe(
    401,
  )
  // Fault 73: the reset ends all sessions, invalidates the old password immediately and verifies the address.
  expect((await app.ask('GET', '/api/user/profile/v1', { token: accessToken })).status).toBe(401)
  expect((await post(app, 'refresh/v1', { refreshToken })).status).toBe(401)
  expect((await login(app, 'ann@example.com', PASSWORD)).status).toBe(401)
  expect((await login(app, 'ann@example.com', NEW_PASSWORD)).status).toBe(200)
  expect(await isVerified(app, 'ann@example.com')).toBe(true)
})

test('a reset link is valid for 30 minutes', async () => {
  await using smtp = await startSmtp()
  await using app = await createTestApp({ ...BASE, SMTP_URL: smtp.url })
  await app.register('ann@example.com')
  await smtp.next('ann@example.com')
  await post(app, 'password/v1/forgot', { email: 'ann@example.com' })
  const token = tokenIn(await smtp.next('ann@example.com'))
  app.clock.advance(30 * 60_000)
  expect((await post(app, 'password/v1/reset', { token, newPassword: NEW_PASSWORD })).status).toBe(
    401,
  )
})

test('a stranger’s request leaves the owner’s reset link valid, and one reset voids all links', async () => {
  await using smtp = await startSmtp()
  await using app = await createTestApp({ ...BASE, SMTP_URL: smtp.url })
  const { user } = await app.register('ann@example.com')
  await app.verifyEmail(user._id)
  await smtp.next('ann@example.com')
  const [owners, strangers] = [await requestReset(), await requestReset()]
  const reset = (token: string) =>
    post(app, 'password/v1/reset', { token, newPassword: NEW_PASSWORD })
  expect((await reset(owners)).status).toBe(200)
  expect((await reset(strangers)).status).toBe(401)

  async function requestReset() {
    await post(app, 'password/v1/forgot', { email: 'ann@example.com' })
    return tokenIn(await smtp.next('ann@example.com'))
  }
})

test('a change of address takes effect on confirmation and notifies the old address', async () => {
  await using smtp = await startSmtp()
  await using app = await createTestApp({ ...BASE, SMTP_URL: smtp.url })
  const { accessToken } = await app.register('old@example.com')
  await app.register('taken@example.com')
  await smtp.next('old@example.com')
  const change = (email: string, password = PASSWORD) =>
    post(app, 'email/v1/change', { email, password }, accessToken)
  expect((await change('new@example.com', 'wrong password')).status).toBe(401)
  expect((await change('taken@example.com')).status).toBe(409)
  expect((await change('new@example.com')).status).toBe(200)
  const token = tokenIn(await smtp.next('new@example.com'))
  expect((await login(app, 'new@example.com', PASSWORD)).status).toBe(401)
  expect((await post(app, 'email/v1/verify', { token })).status).toBe(200)
  expect((await smtp.next('old@example.com')).text).toContain('new@example.com')
  expect((await login(app, 'new@example.com', PASSWORD)).json.response.user.email).toBe(
    'new@example.com',
  )
  expect((await login(app, 'old@example.com', PASSWORD)).status).toBe(401)
})

test(`changing the password ends the other sessions immediately ${fault(73)}`, async () => {
  await using app = await createTestApp()
  const thisSession = await app.register('ann@example.com')
  const there = (await login(app, 'ann@example.com', PASSWORD)).json.response
  const json = { currentPassword: 'wrong password', newPassword: NEW_PASSWORD }
  const path = '/api/auth/password/v1'
  const token = thisSession.accessToken
  expect((await app.ask('PATCH', path, { token, json })).status).toBe(401)
  const changed = await app.ask('PATCH', path, {
    token,
    json: { ...json, currentPassword: PASSWORD },
  })
  expect(changed.status).toBe(200)
  expect((await app.ask('GET', '/api/user/profile/v1', { token })).status).toBe(200)
  const elsewhere = await app.ask('GET', '/api/user/profile/v1', { token: there.accessToken })
  expect(elsewhere.status).toBe(401)
})

test.each([
  ['password1', 'is too common'],
  ['QWERTYUIOP', 'is too common'],
  ['        ', 'must not repeat a single character'],
  ['ann.lee@example.com', 'must not be your address or name'],
  ['Ann Long Name', 'must not be your address or name'],
  ['short', 'must have 8 characters or more'],
])('the password %p %s', async (password, message) => {
  await using app = await createTestApp()
  const json = { email: 'ann.lee@example.com', password, name: 'ann long name' }
  const refused = await app.ask('POST', '/api/auth/register/v1', { json })
  expect(refused.status).toBe(422)
  expect(refused.json.details).toEqual([{ path: 'password', message }])
})

test.each([
  ['standard', 'strong', 'm=19456,t=2,p=1'],
  ['strong', 'standard', 'm=65536,t=2,p=1'],
] as const)(
  'PASSWORD_HASHING=%s replaces %s hashes at the next sign-in',
  async (now, before, cost) => {
    await using app = await createTestApp({}, { passwordCost: PASSWORD_COSTS[now] })
    await app.register('ann@example.com')
    const { users } = app.services.db.tables
    const old = await Bun.password.hash(PASSWORD, {
      algorithm: 'argon2id',
      ...PASSWORD_COSTS[before],
    })
    await app.services.db.write(
      async (tx) => void (await tx.update(users).set({ passwordHash: old })),
    )
    expect((await login(app, 'ann@example.com', PASSWORD)).status).toBe(200)
    const [row] = await app.services.db.read.select().from(users)
    expect(row?.passwordHash).toStartWith(`$argon2id$v=19$${cost}$`)
    expect((await login(app, 'ann@example.com', PASSWORD)).status).toBe(200)
  },
)

test('sends an e-mail about a new device, but not about a known one', async () => {
  await using smtp = await startSmtp()
  await using app = await createTestApp({ ...BASE, SMTP_URL: smtp.url })
  await app.register('ann@example.com', { device: 'Pixel 9' })
  await smtp.next('ann@example.com')
  await app.verifyEmail('ann@example.com')
  await login(app, 'ann@example.com', PASSWORD, 'Pixel 9')
  await login(app, 'ann@example.com', PASSWORD, 'iPad <b>of</b> Eve')
  const mail = await smtp.next('ann@example.com')
  expect(mail.text).toContain('iPad <b>of</b> Eve')
  expect(mail.text).toContain('iPad &lt;b&gt;of&lt;/b&gt; Eve')
  await login(app, 'ann@example.com', PASSWORD, 'iPad <b>of</b> Eve')
  await app.services.users.outbox.flush()
  expect(smtp.mails).toEqual([])
})

test(`sends an e-mail about a reused refresh token ${fault(72)}`, async () => {
  await using smtp = await startSmtp()
  await using app = await createTestApp({ ...BASE, SMTP_URL: smtp.url })
  const { refreshToken } = await app.register('ann@example.com', { device: 'Pixel 9' })
  await smtp.next('ann@example.com')
  await app.verifyEmail('ann@example.com')
  const next = (await post(app, 'refresh/v1', { refreshToken })).json.response
  await app.ask('GET', '/api/user/profile/v1', { token: next.accessToken })
  app.clock.advance(61_000)
  expect((await post(app, 'refresh/v1', { refreshToken })).status).toBe(401)
  expect((await smtp.next('ann@example.com')).text).toContain('Pixel 9')
})

test('retries an e-mail that the server refuses, without delaying the request', async () => {
  await using smtp = await startSmtp()
  await using app = await createTestApp({ ...BASE, SMTP_URL: smtp.url })
  smtp.state.failing = true
  await app.register('ann@example.com')
  await app.services.users.outbox.flush()
  expect(app.lines.join('')).toContain('"willRetry":true')
  expect(app.lines.join('')).not.toContain('ann@example.com')
  const { outbox } = app.services.db.tables
  const [waiting] = await app.services.db.read.select().from(outbox)
  expect(waiting?.attempts).toBe(1)
  expect(JSON.stringify(waiting)).not.toContain('ann@example.com')
  smtp.state.failing = false
  await app.services.users.outbox.flush()
  expect(smtp.mails).toEqual([])
  app.clock.advance(61_000)
  await app.services.users.outbox.flush()
  expect((await smtp.next('ann@example.com')).subject).toContain('Confirm')
  expect(await app.services.db.read.$count(outbox)).toBe(0)
})

test('without a mail server, stores e-mails as files that the operator can read', async () => {
  await using app = await createTestApp()
  await app.register('ann@example.com')
  await app.services.users.outbox.flush()
  const folder = join(app.dataDir, 'outbox')
  const names = await readdir(folder)
  expect(names).toEqual([expect.stringMatching(/\.eml$/)])
  const mail = await Bun.file(join(folder, names[0] ?? '')).text()
  expect(mail).toContain('To: ann@example.com')
  expect(mail).toContain('http://localhost:3000/auth/verify?')
})

test('a user lists their signed-in devices and signs out one or all others', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register('ann@example.com', { device: 'first' })
  for (const device of ['second', 'third']) await login(app, 'ann@example.com', PASSWORD, device)
  const path = '/api/auth/sessions/v1'
  const list = async () => (await app.ask('GET', path, { token })).json.response
  const devices = await list()
  expect(devices.map(({ device }: { device: string }) => device).toSorted()).toEqual([
    'first',
    'second',
    'third',
  ])
  const other = devices.find(({ device }: { device: string }) => device === 'second')
  expect(other.current).toBe(false)
  expect((await app.ask('DELETE', `${path}?id=${other._id}`, { token })).status).toBe(200)
  expect((await app.ask('DELETE', `${path}?id=${other._id}`, { token })).status).toBe(404)
  expect(await list()).toHaveLength(2)
  expect((await app.ask('DELETE', `${path}?id=others`, { token })).status).toBe(200)
  expect(await list()).toMatchObject([{ device: 'first', current: true }])
})

test('the 21st session replaces the least recently used one', async () => {
  await using app = await createTestApp({ RATE_LIMITS: 'off' })
  const first = await app.register('ann@example.com')
  for (let at = 0; at < 20; at++) {
    app.clock.advance(1_000)
    await login(app, 'ann@example.com', PASSWORD)
  }
  const { sessions } = app.services.db.tables
  expect(await app.services.db.read.$count(sessions)).toBe(20)
  const gone = await app.ask('GET', '/api/user/profile/v1', { token: first.accessToken })
  expect(gone.status).toBe(401)
})

function post(app: TestApp, path: string, json?: unknown, token?: string) {
  return app.ask('POST', `/api/auth/${path}`, { json, ...(token ? { token } : {}) })
}

function login(app: TestApp, email: string, password: string, device = 'phone') {
  return app.ask('POST', '/api/auth/login/v1', { json: { email, password }, headers: { device } })
}

async function isVerified(app: TestApp, email: string): Promise<boolean> {
  const user = await app.services.users.accounts.findByEmail(app.services.db.read, email)
  return user?.emailVerifiedAt != null
}
