import { TOTP } from 'totp-generator'
import { PASSWORD } from '../../support/app.ts'
import { LONG, type RouteCase } from '../../support/route-case.ts'

type Setup = Parameters<NonNullable<RouteCase['prepare']>>[0]

const TWO_FACTOR = '/api/auth/two_factor/v1'

export const routes: RouteCase[] = [
  {
    method: 'POST',
    path: '/api/auth/register/v1',
    access: 'public',
    good: { json: { email: 'grid@example.com', password: 'long enough' } },
    bad: { json: { email: 'not an address', password: 'long enough' }, status: 422 },
    oversize: { json: { email: 'a@example.com', password: LONG } },
  },
  {
    method: 'POST',
    path: '/api/auth/login/v1',
    access: 'public',
    good: { json: { email: 'user@example.com', password: 'correct horse battery' } },
    prepare: async ({ user }) => ({ json: { email: user.user.email, password: PASSWORD } }),
    bad: { json: { email: ['user@example.com'], password: 'x' }, status: 422 },
    oversize: { json: { email: 'a@example.com', password: LONG } },
  },
  {
    method: 'POST',
    path: '/api/auth/refresh/v1',
    access: 'public',
    good: {},
    prepare: async ({ user }) => ({ json: { refreshToken: user.refreshToken } }),
    bad: { json: { refreshToken: 'unknown' }, status: 401 },
    oversize: { json: { refreshToken: LONG } },
  },
  {
    method: 'GET',
    path: '/api/user/profile/v1',
    access: 'user',
    good: {},
  },
  {
    method: 'PATCH',
    path: '/api/user/profile/v1',
    access: 'user',
    good: { json: { profile: { name: 'New' } } },
    bad: { json: { profile: [] }, status: 422 },
    oversize: { json: { profile: { name: LONG } } },
  },
  {
    method: 'POST',
    path: '/api/auth/login/v1/two_factor',
    access: 'public',
    good: { json: { challengeToken: 'unknown', code: '000000' } },
    prepare: async (setup) => ({
      json: {
        code: await turnOnTwoFactor(setup),
        challengeToken: await oneTimeToken('two-factor')(setup),
      },
    }),
    bad: { json: { challengeToken: 'unknown', code: '000000' }, status: 401 },
    oversize: { json: { challengeToken: LONG, code: '' } },
  },
  {
    method: 'POST',
    path: '/api/auth/social/v1',
    access: 'public',
    good: { json: { provider: 'google', idToken: 'unknown' } },
    prepare: async ({ identityProvider }) => ({
      json: { provider: 'google', idToken: await identityProvider.mint('google', { sub: 'g-1' }) },
    }),
    bad: { json: { provider: 'other', idToken: 'x' }, status: 422 },
    oversize: { json: { provider: 'google', idToken: LONG } },
  },
  {
    method: 'POST',
    path: '/api/webhooks/apple-account/v1',
    access: 'public',
    good: {},
    prepare: async ({ identityProvider }) => {
      const events = JSON.stringify({ type: 'consent-revoked', sub: 'a-1' })
      return { json: { payload: await identityProvider.mint('apple', { events }) } }
    },
    bad: { json: {}, status: 401 },
    oversize: { json: { payload: LONG } },
  },
  {
    method: 'POST',
    path: '/api/auth/guest/v1',
    access: 'public',
    good: {},
    bad: { headers: { env: 'two words' }, status: 400 },
  },
  { method: 'GET', path: '/api/auth/sessions/v1', access: 'user', good: {} },
  {
    method: 'DELETE',
    path: '/api/auth/sessions/v1',
    access: 'user',
    good: {},
    prepare: async (setup) => ({ path: `/api/auth/sessions/v1?id=${await otherSession(setup)}` }),
    bad: { path: '/api/auth/sessions/v1?id=unknown', status: 404 },
  },
  {
    method: 'PATCH',
    path: '/api/auth/password/v1',
    access: 'user',
    good: { json: { currentPassword: PASSWORD, newPassword: 'another good one' } },
    bad: { json: { currentPassword: PASSWORD, newPassword: 'password1' }, status: 422 },
    oversize: { json: { currentPassword: PASSWORD, newPassword: LONG } },
  },
  {
    method: 'POST',
    path: '/api/auth/password/v1/forgot',
    access: 'public',
    good: { json: { email: 'user@example.com' } },
    bad: { json: { email: 'not an address' }, status: 422 },
    oversize: { json: { email: LONG } },
  },
  {
    method: 'POST',
    path: '/api/auth/password/v1/reset',
    access: 'public',
    good: { json: { token: 'unknown', newPassword: 'another good one' } },
    prepare: async (setup) => ({
      json: { token: await oneTimeToken('reset-password')(setup), newPassword: 'another good one' },
    }),
    bad: { json: { token: 'unknown', newPassword: 'another good one' }, status: 401 },
    oversize: { json: { token: 'x', newPassword: LONG } },
  },
  {
    method: 'POST',
    path: '/api/auth/email/v1/verify',
    access: 'public',
    good: { json: { token: 'unknown' } },
    prepare: async (setup) => ({ json: { token: await oneTimeToken('verify-email')(setup) } }),
    bad: { json: { token: 'unknown' }, status: 401 },
    oversize: { json: { token: LONG } },
  },
  {
    method: 'POST',
    path: '/api/auth/email/v1/cancel',
    access: 'public',
    good: { json: { token: 'unknown' } },
    prepare: async (setup) => ({
      json: { token: await oneTimeToken('cancel-email-change')(setup) },
    }),
    bad: { json: { token: 'unknown' }, status: 401 },
    oversize: { json: { token: LONG } },
  },
  {
    method: 'DELETE',
    path: '/api/auth/social/v1',
    access: 'user',
    good: {},
    prepare: async (setup) => {
      await linkGoogle(setup)
      return { path: '/api/auth/social/v1?provider=google' }
    },
    bad: { path: '/api/auth/social/v1?provider=google', status: 404 },
  },
  { method: 'POST', path: '/api/auth/email/v1/resend', access: 'user', good: {} },
  {
    method: 'POST',
    path: '/api/auth/email/v1/change',
    access: 'user',
    good: { json: { password: PASSWORD, email: 'new@example.com' } },
    bad: { json: { password: PASSWORD, email: 'other@example.com' }, status: 409 },
    oversize: { json: { password: LONG, email: 'new@example.com' } },
  },
  {
    method: 'POST',
    path: TWO_FACTOR,
    access: 'user',
    good: { json: { password: PASSWORD } },
    bad: { json: { password: 'wrong password' }, status: 401 },
    oversize: { json: { password: LONG } },
  },
  {
    method: 'POST',
    path: `${TWO_FACTOR}/confirm`,
    access: 'user',
    good: { json: { code: '000000' } },
    prepare: async (setup) => ({ json: { code: await (await setUpTwoFactor(setup))() } }),
    bad: { json: { code: '000000' }, status: 401 },
    oversize: { json: { code: LONG } },
  },
  {
    method: 'POST',
    path: `${TWO_FACTOR}/recovery_codes`,
    access: 'user',
    good: { json: { password: PASSWORD, code: '000000' } },
    prepare: withTwoFactor,
    bad: { json: { password: PASSWORD, code: '000000' }, status: 409 },
    oversize: { json: { password: PASSWORD, code: LONG } },
  },
  {
    method: 'DELETE',
    path: TWO_FACTOR,
    access: 'user',
    good: { json: { password: PASSWORD, code: '000000' } },
    prepare: withTwoFactor,
    bad: { json: { password: PASSWORD, code: '000000' }, status: 401 },
    oversize: { json: { password: PASSWORD, code: LONG } },
  },
  { method: 'GET', path: '/api/user/export/v1', access: 'user', good: {} },
  { method: 'POST', path: '/api/auth/logout/v1', access: 'user', good: {} },
  { method: 'DELETE', path: '/api/user/profile/v1', access: 'user', good: {} },
]

/** Issues a token as an e-mail would contain it. */
function oneTimeToken(
  purpose: 'reset-password' | 'verify-email' | 'cancel-email-change' | 'two-factor',
) {
  return async ({ app, user: { user } }: Setup) => {
    const { db, users } = app.services
    return db.write((tx) => users.oneTimeTokens.issue(tx, purpose, user._id, user.email))
  }
}

/** Signs in once more, and returns the id of that session. */
async function otherSession({ app, user }: Setup): Promise<string> {
  const json = { email: user.user.email, password: PASSWORD }
  await app.ask('POST', '/api/auth/login/v1', { json })
  const listed = await app.ask('GET', '/api/auth/sessions/v1', { token: user.accessToken })
  return listed.json.response.find(({ current }: { current: boolean }) => !current)._id
}

async function linkGoogle({ app, user }: Setup) {
  const { db } = app.services
  const row = { provider: 'google', subject: 's', userId: user.user._id, createdAt: new Date() }
  await db.write(async (tx) => void (await tx.insert(db.tables.identities).values(row)))
}

/** Sets up two-factor authentication, and returns a function that generates its codes. */
async function setUpTwoFactor({ app, user }: Setup) {
  const request = { token: user.accessToken, json: { password: PASSWORD } }
  const { secret } = (await app.ask('POST', TWO_FACTOR, request)).json.response
  return async () => (await TOTP.generate(secret, { timestamp: app.clock.now.getTime() })).otp
}

/** Turns two-factor authentication on, and returns the next code. */
async function turnOnTwoFactor(setup: Setup) {
  const { app, user } = setup
  const makeCode = await setUpTwoFactor(setup)
  const request = { token: user.accessToken, json: { code: await makeCode() } }
  await app.ask('POST', `${TWO_FACTOR}/confirm`, request)
  app.clock.advance(30_000)
  return makeCode()
}

async function withTwoFactor(setup: Setup) {
  return { json: { password: PASSWORD, code: await turnOnTwoFactor(setup) } }
}
