import { type Ask, PASSWORD } from './app.ts'

/** Every route of the interface, with a good, a bad and an oversize request. */
export type Route = {
  method: string
  path: string
  access: 'public' | 'user' | 'webhook'
  good: Ask
  bad?: Ask & { path?: string; status: number }
  oversize?: Ask
}

export const LONG = 'x'.repeat(70_000)
const UNKNOWN_KEY = `${'a'.repeat(26)}.txt`
export const ATTACHMENTS = '/api/user/attachments/v1'
export const text = { 'content-type': 'text/plain' }

export const routes: Route[] = [
  ...['app_settings', 'pricing_plans', 'currency_rates', 'content_version', 'faqs'].map(
    (name): Route => ({
      method: 'GET',
      path: `/api/user/${name}/v1`,
      access: 'public',
      good: {},
      bad: { headers: { env: 'two words' }, status: 400 },
    }),
  ),
  {
    method: 'POST',
    path: '/api/auth/register/v1',
    access: 'public',
    good: { json: { email: 'grid@example.com', password: 'long enough' } },
    bad: { json: { email: 'no address', password: 'long enough' }, status: 422 },
    oversize: { json: { email: 'a@example.com', password: LONG } },
  },
  {
    method: 'POST',
    path: '/api/auth/login/v1',
    access: 'public',
    good: { json: { email: 'user@example.com', password: 'correct horse battery' } },
    bad: { json: { email: ['user@example.com'], password: 'x' }, status: 422 },
    oversize: { json: { email: 'a@example.com', password: LONG } },
  },
  {
    method: 'POST',
    path: '/api/auth/refresh/v1',
    access: 'public',
    good: {},
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
    method: 'GET',
    path: `${ATTACHMENTS}?limit=2`,
    access: 'user',
    good: {},
    bad: { path: `${ATTACHMENTS}?after=nowhere`, status: 422 },
  },
  {
    method: 'POST',
    path: `${ATTACHMENTS}?type=supportTicket`,
    access: 'user',
    good: { body: 'text', headers: text },
    bad: { path: `${ATTACHMENTS}?type=other`, body: 'text', headers: text, status: 422 },
    oversize: { body: 'text', headers: { ...text, 'content-length': String(2 ** 30) } },
  },
  {
    method: 'GET',
    path: `${ATTACHMENTS}/download?key=KEY`,
    access: 'user',
    good: {},
    bad: { path: `${ATTACHMENTS}/download`, status: 422 },
  },
  {
    method: 'DELETE',
    path: `${ATTACHMENTS}?key=KEY`,
    access: 'user',
    good: {},
    bad: { path: `${ATTACHMENTS}?key=${UNKNOWN_KEY}`, status: 404 },
  },
  {
    method: 'POST',
    path: '/api/webhooks/billing/v1',
    access: 'webhook',
    good: { json: { event: { id: 'E', type: 'RENEWAL' } } },
    bad: { json: { event: {} }, status: 400 },
    oversize: { json: { event: { type: 'RENEWAL', fill: 'x'.repeat(300_000) } } },
  },
  {
    method: 'POST',
    path: '/api/auth/login/v1/two_factor',
    access: 'public',
    good: { json: { challengeToken: 'CHALLENGE', code: 'CODE' } },
    bad: { json: { challengeToken: 'unknown', code: '000000' }, status: 401 },
    oversize: { json: { challengeToken: LONG, code: '' } },
  },
  {
    method: 'POST',
    path: '/api/auth/social/v1',
    access: 'public',
    good: { json: { provider: 'google', idToken: 'ID_TOKEN' } },
    bad: { json: { provider: 'other', idToken: 'x' }, status: 422 },
    oversize: { json: { provider: 'google', idToken: LONG } },
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
    path: '/api/auth/sessions/v1?id=SESSION',
    access: 'user',
    good: {},
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
    bad: { json: { email: 'no address' }, status: 422 },
    oversize: { json: { email: LONG } },
  },
  {
    method: 'POST',
    path: '/api/auth/password/v1/reset',
    access: 'public',
    good: { json: { token: 'RESET', newPassword: 'another good one' } },
    bad: { json: { token: 'unknown', newPassword: 'another good one' }, status: 401 },
    oversize: { json: { token: 'x', newPassword: LONG } },
  },
  {
    method: 'POST',
    path: '/api/auth/email/v1/verify',
    access: 'public',
    good: { json: { token: 'VERIFY' } },
    bad: { json: { token: 'unknown' }, status: 401 },
    oversize: { json: { token: LONG } },
  },
  {
    method: 'POST',
    path: '/api/auth/email/v1/cancel',
    access: 'public',
    good: { json: { token: 'CANCEL' } },
    bad: { json: { token: 'unknown' }, status: 401 },
    oversize: { json: { token: LONG } },
  },
  {
    method: 'DELETE',
    path: '/api/auth/social/v1?provider=PROVIDER',
    access: 'user',
    good: {},
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
    path: '/api/auth/two_factor/v1',
    access: 'user',
    good: { json: { password: PASSWORD } },
    bad: { json: { password: 'wrong password' }, status: 401 },
    oversize: { json: { password: LONG } },
  },
  {
    method: 'POST',
    path: '/api/auth/two_factor/v1/confirm',
    access: 'user',
    good: { json: { code: 'CODE' } },
    bad: { json: { code: '000000' }, status: 401 },
    oversize: { json: { code: LONG } },
  },
  {
    method: 'POST',
    path: '/api/auth/two_factor/v1/recovery_codes',
    access: 'user',
    good: { json: { password: PASSWORD, code: 'CODE' } },
    bad: { json: { password: PASSWORD, code: '000000' }, status: 409 },
    oversize: { json: { password: PASSWORD, code: LONG } },
  },
  {
    method: 'DELETE',
    path: '/api/auth/two_factor/v1',
    access: 'user',
    good: { json: { password: PASSWORD, code: 'CODE' } },
    bad: { json: { password: PASSWORD, code: '000000' }, status: 401 },
    oversize: { json: { password: PASSWORD, code: LONG } },
  },
  { method: 'GET', path: '/api/user/export/v1', access: 'user', good: {} },
  {
    method: 'GET',
    path: '/api/user/subscription/v1',
    access: 'user',
    good: {},
    bad: { path: '/api/user/subscription/v1?environment=other', status: 422 },
  },
  { method: 'POST', path: '/api/auth/logout/v1', access: 'user', good: {} },
  { method: 'DELETE', path: '/api/user/profile/v1', access: 'user', good: {} },
]
