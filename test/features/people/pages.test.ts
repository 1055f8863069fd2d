import { expect, test } from 'bun:test'
import { createTestApp, PASSWORD, type TestApp } from '../../support/app.ts'
import { startSmtp, tokenIn } from '../../support/smtp.ts'

const NEW_PASSWORD = 'another good one'
const BASE = { BASE_URL: 'https://api.example.com', MAIL_FROM: 'App <app@example.com>' }

test('the pages work without scripts: a form that posts, and an answer', async () => {
  await using smtp = await startSmtp()
  await using app = await createTestApp({ ...BASE, SMTP_URL: smtp.url })
  const { accessToken } = await app.register('ann@example.com')
  const token = tokenIn(await smtp.next('ann@example.com'))
  const page = await app.ask('GET', `/auth/verify?token=${token}`)
  expect(page.text).toContain(`value="${token}"`)
  expect(page.headers.get('referrer-policy')).toBe('no-referrer')
  expect(page.headers.get('content-security-policy')).toContain("default-src 'none'")
  const hostile = await app.ask('GET', '/auth/verify?token=%22%3E%3Cscript%3E')
  expect(hostile.text).not.toContain('<script>')
  expect(await isVerified(app, 'ann@example.com')).toBe(false)
  expect((await form(app, '/auth/verify', { token })).text).toContain('The address is confirmed')
  expect(await isVerified(app, 'ann@example.com')).toBe(true)
  const again = await form(app, '/auth/verify', { token })
  expect([again.status, again.text.includes('used before')]).toEqual([401, true])

  await app.ask('POST', '/api/auth/password/v1/forgot', { json: { email: 'ann@example.com' } })
  const reset = tokenIn(await smtp.next('ann@example.com'))
  expect((await app.ask('GET', `/auth/reset?token=${reset}`)).text).toContain('newPassword')
  const set = await form(app, '/auth/reset', { token: reset, newPassword: NEW_PASSWORD })
  expect(set.status).toBe(200)
  expect((await app.ask('GET', '/api/user/profile/v1', { token: accessToken })).status).toBe(401)

  const wrong = await form(app, '/account/delete', { email: 'ann@example.com', password: PASSWORD })
  expect(wrong.status).toBe(401)
  const gone = await form(app, '/account/delete', {
    email: 'ann@example.com',
    password: NEW_PASSWORD,
  })
  expect(gone.status).toBe(200)
  expect(await app.services.db.read.$count(app.services.db.tables.users)).toBe(0)
})

function form(app: TestApp, path: string, fields: Record<string, string>) {
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  return app.ask('POST', path, { body: new URLSearchParams(fields).toString(), headers })
}

async function isVerified(app: TestApp, email: string): Promise<boolean> {
  const user = await app.services.people.accounts.findByEmail(app.services.db.read, email)
  return user?.emailVerifiedAt != null
}
