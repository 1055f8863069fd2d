import { expect, test } from 'bun:test'
import { createTestApp } from '../support/app.ts'
import { startSmtp } from '../support/smtp.ts'

const PROFILE = '/api/user/profile/v1'

test('mails that wait for a user go with the account, those for others stay', async () => {
  await using smtp = await startSmtp()
  await using app = await createTestApp({ SMTP_URL: smtp.url, BASE_URL: 'https://a.example.com' })
  smtp.state.failing = true
  const { accessToken: token } = await app.register('ann@example.com', { device: 'first' })
  await app.register('bob@example.com')
  const json = { email: 'ann@example.com', password: 'correct horse battery' }
  await app.ask('POST', '/api/auth/login/v1', { json, headers: { device: 'second' } })
  await app.ask('POST', '/api/auth/password/v1/forgot', { json: { email: json.email } })
  await app.services.outbox.flush()
  expect(await app.services.outbox.count()).toBe(4)
  expect((await app.ask('DELETE', PROFILE, { token })).status).toBe(200)
  expect(await app.services.outbox.count()).toBe(1)
  smtp.state.failing = false
  app.clock.advance(61_000)
  await app.services.outbox.flush()
  expect(smtp.mails.map(({ to }) => to)).toEqual(['bob@example.com'])
})
