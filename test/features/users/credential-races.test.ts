import { describe, expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { TOTP } from 'totp-generator'
import { createTestApp, PASSWORD, type TestApp } from '../../support/app.ts'

const EMAIL = 'ann@example.com'
const TWO_FACTOR = '/api/auth/two_factor/v1'
const NEW_PASSWORD = 'another good one'

describe('a password that is replaced while it is being verified is refused', () => {
  test('at sign-in', async () => {
    await using app = await createTestApp()
    await app.register(EMAIL)
    const { proof } = app.services.users
    const { attempt } = proof
    proof.attempt = async (...args) => {
      const proven = await attempt(...args)
      await replacePassword(app)
      return proven
    }
    expect((await login(app)).status).toBe(401)
  })

  test.each([
    [
      'changing it',
      'PATCH',
      '/api/auth/password/v1',
      { currentPassword: PASSWORD, newPassword: NEW_PASSWORD },
    ],
    [
      'changing the address',
      'POST',
      '/api/auth/email/v1/change',
      { password: PASSWORD, email: 'b@example.com' },
    ],
    ['setting two-factor up', 'POST', TWO_FACTOR, { password: PASSWORD }],
    ['turning two-factor off', 'DELETE', TWO_FACTOR, { password: PASSWORD, code: '' }],
    [
      'renewing recovery codes',
      'POST',
      `${TWO_FACTOR}/recovery_codes`,
      { password: PASSWORD, code: '' },
    ],
  ])('when %s', async (_name, method, path, body) => {
    await using app = await createTestApp()
    const { accessToken: token } = await app.register(EMAIL)
    const [code] = 'code' in body ? (await enableTwoFactor(app, token)).recoveryCodes : []
    const { proof } = app.services.users
    const { verifyOwnPassword } = proof
    proof.verifyOwnPassword = async (...args) => {
      const recheck = await verifyOwnPassword(...args)
      await replacePassword(app)
      return recheck
    }
    const json = 'code' in body ? { ...body, code } : body
    const reply = await app.ask(method, path, { token, json })
    expect([reply.status, reply.json.message]).toEqual([401, 'The password is wrong.'])
  })
})

test('correct passwords and codes do not use up the rate limits', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register(EMAIL)
  for (let at = 0; at < 7; at++) {
    const reply = await app.ask('POST', TWO_FACTOR, { token, json: { password: PASSWORD } })
    expect(reply.status).toBe(200)
  }
  const { secret } = await enableTwoFactor(app, token)
  for (let at = 0; at < 12; at++) {
    app.clock.advance(30_000)
    const { challengeToken } = (await login(app)).json.response
    const json = { challengeToken, code: await deriveCode(app, secret) }
    expect((await app.ask('POST', '/api/auth/login/v1/two_factor', { json })).status).toBe(200)
  }
})

test('setting a password by e-mail removes the delays after wrong passwords', async () => {
  await using app = await createTestApp()
  const { accessToken: token, user } = await app.register(EMAIL)
  const { db, users } = app.services
  const wrong = { currentPassword: 'wrong password', newPassword: NEW_PASSWORD }
  for (let at = 0; at < 7; at++) {
    await login(app, 'wrong password')
    await app.ask('PATCH', '/api/auth/password/v1', { token, json: wrong })
  }
  const applicable = users.proof.listLimits({ id: user._id, email: EMAIL })
  expect(await app.services.limits.activeLimits(applicable)).toHaveLength(2)
  const reset = await db.write((tx) =>
    users.oneTimeTokens.issue(tx, 'reset-password', user._id, EMAIL),
  )
  await users.passwordLogin.reset(reset, NEW_PASSWORD)
  expect(await app.services.limits.activeLimits(applicable)).toEqual([])
  expect((await login(app, NEW_PASSWORD)).status).toBe(200)
})

test('two-factor can be set up only while it is off, and turned off only while it is on', async () => {
  await using app = await createTestApp()
  const { accessToken: token, user } = await app.register(EMAIL)
  const setUp = () => app.ask('POST', TWO_FACTOR, { token, json: { password: PASSWORD } })
  const { secret } = (await setUp()).json.response
  const json = { password: PASSWORD, code: await deriveCode(app, secret) }
  expect((await app.ask('DELETE', TWO_FACTOR, { token, json })).status).toBe(401)
  const { twoFactor } = app.services.users
  await expect(twoFactor.reset(user._id)).rejects.toMatchObject({ code: 'conflict' })
  const { recoveryCodes } = await enableTwoFactor(app, token)
  expect((await setUp()).status).toBe(409)
  await twoFactor.reset(user._id)
  const { db } = app.services
  expect(await db.read.$count(db.tables.recoveryCodes)).toBe(0)
  expect(recoveryCodes).toHaveLength(10)
})

test('a repeated confirmation does not return recovery codes that have been replaced', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register(EMAIL)
  const { code, recoveryCodes } = await enableTwoFactor(app, token)
  const renewed = await app.ask('POST', `${TWO_FACTOR}/recovery_codes`, {
    token,
    json: { password: PASSWORD, code: recoveryCodes[0] },
  })
  expect(renewed.status).toBe(200)
  const again = await app.ask('POST', `${TWO_FACTOR}/confirm`, { token, json: { code } })
  expect(again.status).toBe(409)
})

async function enableTwoFactor(app: TestApp, token: string) {
  const setUp = await app.ask('POST', TWO_FACTOR, { token, json: { password: PASSWORD } })
  const { secret } = setUp.json.response
  const code = await deriveCode(app, secret)
  const { json } = await app.ask('POST', `${TWO_FACTOR}/confirm`, { token, json: { code } })
  return { secret: secret as string, code, recoveryCodes: json.response.recoveryCodes as string[] }
}

async function deriveCode(app: TestApp, secret: string): Promise<string> {
  return (await TOTP.generate(secret, { timestamp: app.clock.now.getTime() })).otp
}

function login(app: TestApp, password = PASSWORD) {
  return app.ask('POST', '/api/auth/login/v1', { json: { email: EMAIL, password } })
}

async function replacePassword({ services: { db } }: TestApp) {
  const { users } = db.tables
  await db.write(async (tx) => {
    await tx.update(users).set({ passwordHash: 'another hash' }).where(eq(users.email, EMAIL))
  })
}
