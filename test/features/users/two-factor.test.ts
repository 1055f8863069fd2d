import { expect, test } from 'bun:test'
import { TOTP } from 'totp-generator'
import { createTestApp, PASSWORD, type TestApp } from '../../support/app.ts'
import { fault } from '../../support/fault.ts'
import { startSmtp, tokenIn } from '../../support/smtp.ts'

const PATH = '/api/auth/two_factor/v1'
const STEP = 30_000

test('leaves colons out of the issuer that authenticator apps show', async () => {
  await using app = await createTestApp({ APP_NAME: 'Trees: Pro' })
  const { setUp } = await enable(app)
  expect(setUp.otpauthUrl).toStartWith('otpauth://totp/Trees%20Pro:ann%40example.com?')
  expect(new URL(setUp.otpauthUrl).searchParams.get('issuer')).toBe('Trees Pro')
})

test('turns two-factor on with a code from another library, and then requires codes', async () => {
  await using app = await createTestApp()
  const { token, secret, setUp, recoveryCodes } = await enable(app)
  expect(setUp.otpauthUrl).toStartWith('otpauth://totp/homeport:ann%40example.com?')
  expect(setUp.qrSvg).toStartWith('<svg')
  expect(new Set(recoveryCodes).size).toBe(10)
  const profile = await app.ask('GET', '/api/user/profile/v1', { token })
  expect(profile.json.response.twoFactor).toEqual({
    enabled: true,
    methods: ['totp', 'recovery_code'],
    recoveryCodesLeft: 10,
  })
  const challenge = await login(app)
  expect(challenge.status).toBe(200)
  expect(challenge.json).toEqual({
    code: 'two_factor_required',
    response: {
      challengeToken: expect.any(String),
      methods: ['totp', 'recovery_code'],
      expiresIn: 300,
    },
  })
  app.clock.advance(STEP)
  const { challengeToken } = challenge.json.response
  const code = await codeAt(app, secret)
  // Authenticator apps show codes in two groups.
  const passed = await submitCode(app, challengeToken, `${code.slice(0, 3)} ${code.slice(3)}`)
  expect(passed.json.response.user.email).toBe('ann@example.com')
  expect((await submitCode(app, challengeToken, recoveryCodes[0] ?? '')).status).toBe(401)
})

test('accepts codes in the digits of any script, and recovery codes with letters typed for digits', async () => {
  await using app = await createTestApp()
  const { secret, recoveryCodes } = await enable(app)
  app.clock.advance(STEP)
  const persian = (await codeAt(app, secret)).replace(/\d/g, (digit) => '۰۱۲۳۴۵۶۷۸۹'[+digit] ?? '')
  expect((await submitCode(app, await challengeOf(app), `\u200e${persian}`)).status).toBe(200)
  for (const code of recoveryCodes) {
    const typed = code.toUpperCase().replaceAll('0', 'O').replaceAll('1', 'l')
    expect((await submitCode(app, await challengeOf(app), typed)).status).toBe(200)
  }
})

test('the database contains neither the secret nor the recovery codes in plain text', async () => {
  await using app = await createTestApp()
  const { secret, recoveryCodes } = await enable(app)
  const { users, recoveryCodes: table } = app.services.db.tables
  const rows = JSON.stringify([
    await app.services.db.read.select().from(users),
    await app.services.db.read.select().from(table),
  ])
  for (const plain of [secret, ...recoveryCodes]) expect(rows).not.toContain(plain)
})

test(`a code is accepted once, even in 20 parallel attempts ${fault(66)}`, async () => {
  await using app = await createTestApp({ RATE_LIMITS: 'off' })
  const { secret } = await enable(app)
  app.clock.advance(STEP)
  const code = await codeAt(app, secret)
  const challenges = await Promise.all(Array.from({ length: 20 }, () => challengeOf(app)))
  const replies = await Promise.all(challenges.map((token) => submitCode(app, token, code)))
  expect(replies.filter(({ status }) => status === 200)).toHaveLength(1)
  expect((await submitCode(app, await challengeOf(app), code)).status).toBe(401)
})

test.each([
  [-2, 401],
  [-1, 200],
  [0, 200],
  [1, 200],
  [2, 401],
])(`a code %d steps away gets %d ${fault(68)}`, async (steps, status) => {
  await using app = await createTestApp()
  const { secret } = await enable(app)
  app.clock.advance(10 * STEP)
  const challenge = await challengeOf(app)
  expect((await submitCode(app, challenge, await codeAt(app, secret, steps))).status).toBe(status)
})

test(`five wrong codes end a challenge; ten in 15 minutes lock code entry ${fault(67)}`, async () => {
  await using app = await createTestApp()
  const { secret } = await enable(app)
  app.clock.advance(STEP)
  const first = await challengeOf(app)
  for (let at = 0; at < 5; at++) expect((await submitCode(app, first, '000000')).status).toBe(401)
  expect((await submitCode(app, first, await codeAt(app, secret))).status).toBe(401)
  const second = await challengeOf(app)
  for (let at = 0; at < 5; at++) expect((await submitCode(app, second, '000000')).status).toBe(401)
  const third = await challengeOf(app)
  const locked = await submitCode(app, third, await codeAt(app, secret))
  expect(locked.status).toBe(429)
  expect(Number(locked.headers.get('retry-after'))).toBeGreaterThan(0)
  app.clock.advance(15 * 60_000)
  const fourth = await challengeOf(app)
  expect((await submitCode(app, fourth, await codeAt(app, secret))).status).toBe(200)
})

test(`twenty wrong codes in a day lock code entry until the next day ${fault(67)}`, async () => {
  await using app = await createTestApp()
  const { secret } = await enable(app)
  const statuses: number[] = []
  for (let at = 0; at < 5; at++) {
    const challenge = await challengeOf(app)
    for (let guess = 0; guess < 5; guess++)
      statuses.push((await submitCode(app, challenge, '000000')).status)
    app.clock.advance(15 * 60_000)
  }
  expect(statuses).toEqual([...Array(20).fill(401), ...Array(5).fill(429)])
  app.clock.advance(24 * 60 * 60_000)
  const challenge = await challengeOf(app)
  expect((await submitCode(app, challenge, await codeAt(app, secret))).status).toBe(200)
})

test('a recovery code lets in an owner whom a thief’s wrong codes have locked out', async () => {
  await using app = await createTestApp()
  const { recoveryCodes } = await enable(app)
  for (let round = 0; round < 2; round++) {
    const challenge = await challengeOf(app)
    for (let guess = 0; guess < 5; guess++) await submitCode(app, challenge, '000000')
  }
  const challenge = await challengeOf(app)
  expect((await submitCode(app, challenge, '000000')).status).toBe(429)
  expect((await submitCode(app, challenge, recoveryCodes[0] ?? '')).status).toBe(200)
})

test(`a recovery code works once, even in parallel, in any case and with dashes ${fault(79)}`, async () => {
  await using app = await createTestApp({ RATE_LIMITS: 'off' })
  const { recoveryCodes } = await enable(app)
  const [code = '', other = ''] = recoveryCodes
  const challenges = await Promise.all(Array.from({ length: 20 }, () => challengeOf(app)))
  const replies = await Promise.all(challenges.map((token) => submitCode(app, token, code)))
  const passed = replies.filter(({ status }) => status === 200)
  expect(passed).toHaveLength(1)
  expect(passed[0]?.json.response.user.twoFactor.recoveryCodesLeft).toBe(9)
  const typed = `${other.slice(0, 5)}-${other.slice(5)}`.toUpperCase()
  expect((await submitCode(app, await challengeOf(app), typed)).status).toBe(200)
})

test(`a challenge lasts 5 minutes and only signs in; a reset keeps two-factor ${fault(69)}`, async () => {
  await using smtp = await startSmtp()
  await using app = await createTestApp({ SMTP_URL: smtp.url })
  await app.register('ann@example.com')
  const confirming = tokenIn(await smtp.next('ann@example.com'))
  await app.ask('POST', '/api/auth/email/v1/verify', { json: { token: confirming } })
  await enable(app, false)
  const challenge = await challengeOf(app)
  expect((await app.ask('GET', '/api/user/profile/v1', { token: challenge })).status).toBe(401)
  for (const [path, json] of [
    ['refresh/v1', { refreshToken: challenge }],
    ['email/v1/verify', { token: challenge }],
    ['password/v1/reset', { token: challenge, newPassword: 'another good one' }],
  ] as const) {
    expect((await app.ask('POST', `/api/auth/${path}`, { json })).status).toBe(401)
  }
  app.clock.advance(5 * 60_000 + 1)
  expect((await submitCode(app, challenge, '000000')).json.code).toBe('unauthenticated')

  smtp.mails.splice(0)
  await app.ask('POST', '/api/auth/password/v1/forgot', { json: { email: 'ann@example.com' } })
  const token = tokenIn(await smtp.next('ann@example.com'))
  const newPassword = 'another good one'
  await app.ask('POST', '/api/auth/password/v1/reset', { json: { token, newPassword } })
  expect((await login(app, newPassword)).json.code).toBe('two_factor_required')
})

test(`turning two-factor on or off ends the other sessions ${fault(73)}`, async () => {
  await using app = await createTestApp()
  await app.register('ann@example.com')
  const other = (await login(app)).json.response.accessToken
  const { token, secret } = await enable(app, false)
  expect((await app.ask('GET', '/api/user/profile/v1', { token: other })).status).toBe(401)
  app.clock.advance(STEP)
  const third = (await submitCode(app, await challengeOf(app), await codeAt(app, secret))).json
    .response
  const off = async (password: string, code: string) =>
    (await app.ask('DELETE', PATH, { token, json: { password, code } })).status
  app.clock.advance(STEP)
  expect(await off('wrong password', await codeAt(app, secret))).toBe(401)
  expect(await off(PASSWORD, '000000')).toBe(401)
  expect(await off(PASSWORD, await codeAt(app, secret))).toBe(200)
  expect((await app.ask('GET', '/api/user/profile/v1', { token: third.accessToken })).status).toBe(
    401,
  )
  expect((await login(app)).json.code).toBe('ok')
})

test('repeating a confirmation with its code returns the same response for five minutes', async () => {
  await using app = await createTestApp()
  const { token, code, recoveryCodes } = await enable(app)
  const confirm = (typed: string) =>
    app.ask('POST', `${PATH}/confirm`, { token, json: { code: typed } })
  const [a, b] = await Promise.all([confirm(code), confirm(code)])
  app.clock.advance(4 * 60_000)
  const late = await confirm(code)
  for (const again of [a, b, late]) {
    expect([again.status, again.json.response?.recoveryCodes]).toEqual([200, recoveryCodes])
  }
  const [first = ''] = recoveryCodes
  expect((await submitCode(app, await challengeOf(app), first)).status).toBe(200)
  expect((await confirm('000000')).status).toBe(409)
  app.clock.advance(60_001)
  expect((await confirm(code)).status).toBe(409)
})

test('a repeated confirmation returns no recovery codes after a newer code was used', async () => {
  await using app = await createTestApp()
  const { token, code, secret } = await enable(app)
  app.clock.advance(STEP)
  await submitCode(app, await challengeOf(app), await codeAt(app, secret))
  const again = await app.ask('POST', `${PATH}/confirm`, { token, json: { code } })
  expect(again.status).toBe(409)
})

test('new recovery codes require the password and a code and invalidate the old ones', async () => {
  await using app = await createTestApp()
  const { token, secret, recoveryCodes } = await enable(app)
  const renew = (password: string, code: string) =>
    app.ask('POST', `${PATH}/recovery_codes`, { token, json: { password, code } })
  app.clock.advance(STEP)
  expect((await renew('wrong password', await codeAt(app, secret))).status).toBe(401)
  expect((await renew(PASSWORD, '000000')).status).toBe(401)
  const code = await codeAt(app, secret)
  const renewed = await renew(PASSWORD, code)
  expect(renewed.status).toBe(200)
  const fresh: string[] = renewed.json.response.recoveryCodes
  expect(new Set([...fresh, ...recoveryCodes]).size).toBe(20)
  expect((await renew(PASSWORD, code)).status).toBe(401)
  expect((await submitCode(app, await challengeOf(app), recoveryCodes[0] ?? '')).status).toBe(401)
  expect((await submitCode(app, await challengeOf(app), fresh[0] ?? '')).status).toBe(200)
  // A recovery code also works, because the authenticator app may be lost.
  expect((await renew(PASSWORD, fresh[1] ?? '')).status).toBe(200)
  const profile = await app.ask('GET', '/api/user/profile/v1', { token })
  expect(profile.json.response.twoFactor.recoveryCodesLeft).toBe(10)
})

test('refuses to generate recovery codes without two-factor', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register('ann@example.com')
  const json = { password: PASSWORD, code: '000000' }
  expect((await app.ask('POST', `${PATH}/recovery_codes`, { token, json })).status).toBe(409)
})

test('an unconfirmed secret does not turn two-factor on', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register('ann@example.com')
  const wrong = await app.ask('POST', PATH, { token, json: { password: 'wrong password' } })
  expect(wrong.status).toBe(401)
  await app.ask('POST', PATH, { token, json: { password: PASSWORD } })
  const confirmed = await app.ask('POST', `${PATH}/confirm`, { token, json: { code: '000000' } })
  expect(confirmed.status).toBe(401)
  expect((await login(app)).json.code).toBe('ok')
})

async function enable(app: TestApp, isNew = true) {
  if (isNew) await app.register('ann@example.com')
  const token = (await login(app)).json.response.accessToken as string
  const setUp = (await app.ask('POST', PATH, { token, json: { password: PASSWORD } })).json.response
  const secret = setUp.secret as string
  const code = await codeAt(app, secret)
  const { json } = await app.ask('POST', `${PATH}/confirm`, { token, json: { code } })
  return { token, setUp, secret, code, recoveryCodes: json.response.recoveryCodes as string[] }
}

/** The code `steps` steps from now, generated by another library. */
async function codeAt(app: TestApp, secret: string, steps = 0): Promise<string> {
  const timestamp = app.clock.now.getTime() + steps * STEP
  return (await TOTP.generate(secret, { timestamp })).otp
}

function login(app: TestApp, password = PASSWORD) {
  return app.ask('POST', '/api/auth/login/v1', { json: { email: 'ann@example.com', password } })
}

async function challengeOf(app: TestApp): Promise<string> {
  return (await login(app)).json.response.challengeToken
}

function submitCode(app: TestApp, challengeToken: string, code: string) {
  return app.ask('POST', '/api/auth/login/v1/two_factor', { json: { challengeToken, code } })
}
