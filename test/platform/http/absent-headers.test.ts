import { expect, test } from 'bun:test'
import { createTestApp, PASSWORD } from '../../support/app.ts'
import { uploadBody } from '../../support/attachments.ts'

const LOGIN = '/api/auth/login/v1'
const PROFILE = '/api/user/profile/v1'
const SETTINGS = '/api/user/app_settings/v1'
const OPTIONAL_HEADERS = [
  'env',
  'device',
  'timezone',
  'accept-language',
  'if-none-match',
  'app-platform',
  'app-version',
  'device-id',
]

test.each(['null', 'undefined', ''])(
  'optional headers sent as %p count as absent',
  async (value) => {
    await using app = await createTestApp()
    const headers = Object.fromEntries(OPTIONAL_HEADERS.map((name) => [name, value]))
    const { accessToken: token, user } = await app.register('ann@example.com', headers)
    expect(user.profile).toMatchObject({ locale: 'en', timezone: 'utc' })
    const { json } = await app.ask('GET', '/api/auth/sessions/v1', { token, headers })
    expect(json.response).toMatchObject([{ device: 'ios' }])
    expect((await app.ask('GET', SETTINGS, { headers })).status).toBe(200)
  },
)

test.each(['null', 'undefined', ''])('uploads with the key %p are not retries', async (value) => {
  await using app = await createTestApp()
  const { accessToken } = await app.register()
  const headers = { 'idempotency-key': value, 'x-file-name': value }
  const upload = (text: string) =>
    uploadBody(app, accessToken, text, 'text/plain', 'supportTicket', headers)
  const [first, second] = [await upload('first'), await upload('second')]
  expect([first.status, second.status]).toEqual([200, 200])
  expect(first.json.response[0].key).not.toBe(second.json.response[0].key)
})

test.each(['staging', 'production', 'two words'])(
  'plain JSON with env %p gets an error that lists the valid values',
  async (env) => {
    await using app = await createTestApp()
    const json = { email: 'ann@example.com', password: PASSWORD }
    const replies = [
      await app.ask('POST', LOGIN, { json, headers: { env } }),
      await app.ask('GET', PROFILE, { headers: { env } }),
    ]
    for (const { status, json: failure } of replies) {
      expect(status).toBe(400)
      expect(failure.message).toStartWith('The env header ')
      expect(failure.message).toContain('send test or omit the header')
    }
  },
)
