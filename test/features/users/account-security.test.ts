import { describe, expect, test } from 'bun:test'
import { TOTP } from 'totp-generator'
import { PURPOSES, type Purpose } from '../../../src/features/users/credentials/one-time-tokens.ts'
import { createTestApp, PASSWORD, type TestApp } from '../../support/app.ts'
import { startSmtp, tokenIn } from '../../support/smtp.ts'

const NEW_PASSWORD = 'another good one'
const BASE = { BASE_URL: 'https://api.example.com' }
const MINUTE = 60_000
/** Token purposes that an attacker could abuse. */
const RISKY = PURPOSES.filter((purpose) => purpose !== 'verify-email')

type Owner = Awaited<ReturnType<TestApp['register']>>

/** Every action that recovers or secures an account. Each gets a reset token issued beforehand. */
const ACTIONS: Record<
  string,
  (app: TestApp, owner: Owner, resetToken: string) => Promise<unknown>
> = {
  'a changed password': (app, { accessToken: token }) =>
    app.ask('PATCH', '/api/auth/password/v1', {
      token,
      json: { currentPassword: PASSWORD, newPassword: NEW_PASSWORD },
    }),
  'a password set by e-mail': (app, _owner, token) =>
    post(app, 'password/v1/reset', { token, newPassword: NEW_PASSWORD }),
  'ending the other sessions': (app, { accessToken: token }) =>
    app.ask('DELETE', '/api/auth/sessions/v1?id=others', { token }),
  'switching two-factor on': (app, owner) => enableTwoFactor(app, owner),
  'switching two-factor off': async (app, owner) => {
    const [code] = await enableTwoFactor(app, owner)
    await issueAll(app, owner, RISKY)
    const json = { password: PASSWORD, code }
    return app.ask('DELETE', '/api/auth/two_factor/v1', { token: owner.accessToken, json })
  },
  'unlinking a provider': async (app, owner) => {
    await link(app, owner)
    return app.ask('DELETE', '/api/auth/social/v1?provider=google', { token: owner.accessToken })
  },
}

describe('no link or pending change survives', () => {
  for (const [name, action] of Object.entries(ACTIONS)) {
    test(name, async () => {
      await using app = await createTestApp()
      const owner = await app.register('ann@example.com')
      const elsewhere = await login(app, PASSWORD)
      const tokens = await issueAll(app, owner)
      expect(await action(app, owner, tokens['reset-password'])).toMatchObject({ status: 200 })
      const { users, db } = app.services
      const findToken = (purpose: Purpose) =>
        users.oneTimeTokens.find(db.read, purpose, tokens[purpose])
      for (const purpose of RISKY) {
        expect([purpose, await findToken(purpose)]).toEqual([purpose, null])
      }
      // A verification token can only confirm the account's current address.
      expect(await findToken('verify-email')).not.toBeNull()
      expect(await db.read.$count(db.tables.oneTimeTokens)).toBe(1)
      const token = elsewhere.json.response.accessToken
      expect((await app.ask('GET', '/api/user/profile/v1', { token })).status).toBe(401)
      const verified = await post(app, 'email/v1/verify', { token: tokens['verify-email'] })
      expect(verified.status).toBe(200)
    })
  }
})

test('a password reset by the owner cancels a thief’s pending change of address', async () => {
  await using smtp = await startSmtp()
  await using app = await createTestApp({ ...BASE, SMTP_URL: smtp.url })
  const thief = await app.register('ann@example.com')
  await post(app, 'email/v1/change', { email: 'thief@example.com', password: PASSWORD }, thief)
  const pending = tokenIn(await smtp.next('thief@example.com'))
  await smtp.next('ann@example.com')
  await smtp.next('ann@example.com')
  await post(app, 'password/v1/forgot', { email: 'ann@example.com' })
  const reset = tokenIn(await smtp.next('ann@example.com'))
  const set = await post(app, 'password/v1/reset', { token: reset, newPassword: NEW_PASSWORD })
  expect(set.status).toBe(200)
  expect((await post(app, 'email/v1/verify', { token: pending })).status).toBe(401)
  expect((await login(app, NEW_PASSWORD)).json.response.user.email).toBe('ann@example.com')
})

test('the e-mail to the old address can cancel a change of address, by API or page', async () => {
  await using smtp = await startSmtp()
  await using app = await createTestApp({
    ...BASE,
    SMTP_URL: smtp.url,
    APP_LINK_URL: 'myapp://open',
  })
  const thief = await app.register('ann@example.com')
  await smtp.next('ann@example.com')
  for (const cancel of [cancelByApi, cancelByPage]) {
    await post(app, 'email/v1/change', { email: 'thief@example.com', password: PASSWORD }, thief)
    const notice = await smtp.next('ann@example.com')
    expect(notice.text).toContain('thief@example.com')
    expect(notice.text).toContain('https://api.example.com/auth/cancel?token=')
    const pending = tokenIn(await smtp.next('thief@example.com'))
    expect((await cancel(app, tokenIn(notice))).status).toBe(200)
    expect((await post(app, 'email/v1/verify', { token: pending })).status).toBe(401)
    expect((await cancel(app, tokenIn(notice))).status).toBe(401)
  }
})

test('every notice of a change of address can cancel it, not only the last one', async () => {
  await using smtp = await startSmtp()
  await using app = await createTestApp({ ...BASE, SMTP_URL: smtp.url })
  const thief = await app.register('ann@example.com')
  await smtp.next('ann@example.com')
  const change = { email: 'thief@example.com', password: PASSWORD }
  await post(app, 'email/v1/change', change, thief)
  const first = tokenIn(await smtp.next('ann@example.com'))
  await smtp.next('thief@example.com')
  await post(app, 'email/v1/change', change, thief)
  const pending = tokenIn(await smtp.next('thief@example.com'))
  expect((await cancelByApi(app, first)).status).toBe(200)
  expect((await post(app, 'email/v1/verify', { token: pending })).status).toBe(401)
})

test('cancelling a change of address keeps the link that verifies the current one', async () => {
  await using app = await createTestApp()
  const owner = await app.register('ann@example.com')
  const tokens = await issueAll(app, owner)
  expect((await cancelByApi(app, tokens['cancel-email-change'])).status).toBe(200)
  const verified = await post(app, 'email/v1/verify', { token: tokens['verify-email'] })
  expect(verified.status).toBe(200)
})

test('a verification link for an earlier address is invalid', async () => {
  await using app = await createTestApp()
  const owner = await app.register('ann@example.com')
  const { db, users } = app.services
  const issue = (purpose: 'verify-email' | 'change-email', email: string) =>
    db.write((tx) => users.oneTimeTokens.issue(tx, purpose, owner.user._id, email))
  const old = await issue('verify-email', 'ann@example.com')
  const token = await issue('change-email', 'new@example.com')
  expect((await post(app, 'email/v1/verify', { token })).status).toBe(200)
  expect((await post(app, 'email/v1/verify', { token: old })).status).toBe(401)
})

test('refuses a change started with the old password after the owner sets a new one', async () => {
  await using app = await createTestApp()
  const owner = await app.register('ann@example.com')
  const { db, users } = app.services
  const recheckPassword = await users.proof.verifyOwnPassword(owner.user._id, PASSWORD)
  const [reset] = [await issueAll(app, owner)].map((tokens) => tokens['reset-password'])
  await post(app, 'password/v1/reset', { token: reset, newPassword: NEW_PASSWORD })
  const late = users.addresses.change(owner.user._id, 'thief@example.com', '::1', recheckPassword)
  await expect(late).rejects.toMatchObject({ code: 'invalid_credentials' })
  const left = await db.read.select().from(db.tables.oneTimeTokens)
  expect(left.map(({ purpose }) => purpose)).toEqual(['verify-email'])
})

test('a stranger who registers an address with two-factor does not lock its owner out', async () => {
  await using smtp = await startSmtp()
  await using app = await createTestApp({ ...BASE, SMTP_URL: smtp.url })
  const squatter = await app.register('owner@example.com')
  await smtp.next('owner@example.com')
  await enableTwoFactor(app, squatter)
  await link(app, squatter)
  await post(app, 'password/v1/forgot', { email: 'owner@example.com' })
  const token = tokenIn(await smtp.next('owner@example.com'))
  await post(app, 'password/v1/reset', { token, newPassword: NEW_PASSWORD })
  const session = await login(app, NEW_PASSWORD, 'owner@example.com')
  expect(session.json.code).toBe('ok')
  expect(session.json.response.user.twoFactor.enabled).toBe(false)
  const { identities, recoveryCodes } = app.services.db.tables
  expect(await app.services.db.read.$count(identities)).toBe(0)
  expect(await app.services.db.read.$count(recoveryCodes)).toBe(0)
})

test('a password reset keeps two-factor if the address is verified', async () => {
  await using app = await createTestApp()
  const owner = await app.register('ann@example.com')
  const tokens = await issueAll(app, owner)
  await post(app, 'email/v1/verify', { token: tokens['verify-email'] })
  await enableTwoFactor(app, owner)
  const { 'reset-password': token } = await issueAll(app, owner)
  await post(app, 'password/v1/reset', { token, newPassword: NEW_PASSWORD })
  expect((await login(app, NEW_PASSWORD)).json.code).toBe('two_factor_required')
})

test('the only sign-in method cannot be unlinked', async () => {
  await using app = await createTestApp()
  const owner = await app.register('ann@example.com')
  const path = '/api/auth/social/v1?provider=google'
  const unlink = () => app.ask('DELETE', path, { token: owner.accessToken })
  expect((await unlink()).status).toBe(404)
  await link(app, owner)
  const { users } = app.services.db.tables
  const hash = await app.services.db.write(async (tx) => {
    const [row] = await tx.select().from(users)
    await tx.update(users).set({ passwordHash: null, loginType: 'google' })
    return row?.passwordHash ?? null
  })
  expect((await unlink()).status).toBe(409)
  await app.services.db.write(
    async (tx) => void (await tx.update(users).set({ passwordHash: hash })),
  )
  expect((await unlink()).status).toBe(200)
  const profile = await app.ask('GET', '/api/user/profile/v1', { token: owner.accessToken })
  expect(profile.json.response.loginType).toBe('email')
})

/** Issues one valid token per purpose. */
async function issueAll(app: TestApp, { user }: Owner, purposes: readonly Purpose[] = PURPOSES) {
  const { users, db } = app.services
  return db.write(async (tx) => {
    const tokens = {} as Record<Purpose, string>
    for (const purpose of purposes) {
      tokens[purpose] = await users.oneTimeTokens.issue(tx, purpose, user._id, user.email)
    }
    return tokens
  })
}

/** Switches two-factor on and returns the status and the recovery codes. */
async function enableTwoFactor(app: TestApp, { accessToken: token }: Owner) {
  const setUp = await app.ask('POST', '/api/auth/two_factor/v1', {
    token,
    json: { password: PASSWORD },
  })
  app.clock.advance(MINUTE)
  const { otp } = await TOTP.generate(setUp.json.response.secret, {
    timestamp: app.clock.now.getTime(),
  })
  const confirmed = await app.ask('POST', '/api/auth/two_factor/v1/confirm', {
    token,
    json: { code: otp },
  })
  return Object.assign(confirmed.json.response.recoveryCodes as string[], {
    status: confirmed.status,
  })
}

async function link(app: TestApp, { user }: Owner) {
  const { identities } = app.services.db.tables
  const row = { provider: 'google', subject: 's-1', userId: user._id, createdAt: app.clock.now }
  await app.services.db.write(async (tx) => void (await tx.insert(identities).values(row)))
}

function cancelByApi(app: TestApp, token: string) {
  return post(app, 'email/v1/cancel', { token })
}

async function cancelByPage(app: TestApp, token: string) {
  const page = await app.ask('GET', `/auth/cancel?token=${token}`)
  if (page.status !== 200) return page
  expect(page.text).toContain(`value="${token}"`)
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  return app.ask('POST', '/auth/cancel', { body: `token=${token}`, headers })
}

function post(app: TestApp, path: string, json: unknown, as?: Owner) {
  return app.ask('POST', `/api/auth/${path}`, { json, ...(as ? { token: as.accessToken } : {}) })
}

function login(app: TestApp, password: string, email = 'ann@example.com') {
  return app.ask('POST', '/api/auth/login/v1', { json: { email, password } })
}
