import { describe, expect, test } from 'bun:test'
import { createTestApp, PASSWORD } from '../../support/app.ts'
import { signInByCode } from '../../support/email-code.ts'

const EMAIL = 'ann@example.com'
const MINUTE = 60_000

describe('a user without a password', () => {
  test.each([
    ['changes the address', '/api/auth/email/v1/change', { email: 'new@example.com' }],
    ['sets two-factor up', '/api/auth/two_factor/v1', {}],
  ])('%s after a recent sign-in', async (_name, path, json) => {
    await using app = await createTestApp()
    const token = (await signInByCode(app, EMAIL)).accessToken
    expect((await app.ask('POST', path, { token, json })).status).toBe(200)
    app.clock.advance(11 * MINUTE)
    const late = await app.ask('POST', path, { token, json })
    expect([late.status, late.json.code]).toEqual([403, 'recent_sign_in_required'])
    const guessed = await app.ask('POST', path, { token, json: { ...json, password: PASSWORD } })
    expect(guessed.status).toBe(403)
  })
})

test('a user with a password must send it', async () => {
  await using app = await createTestApp()
  const { accessToken: token } = await app.register(EMAIL)
  const { status, json } = await app.ask('POST', '/api/auth/two_factor/v1', { token, json: {} })
  expect([status, json.details]).toEqual([422, [{ path: 'password', message: 'is required' }]])
})
