import { expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../support/app.ts'
import { signInOperator } from '../support/operator.ts'

const OURS = { 'sec-fetch-site': 'same-origin', origin: 'http://localhost' }
const JSON_TYPE = { 'content-type': 'application/json' }

test('brackets without end cost a stranger’s request, not the server’s time', async () => {
  await using app = await createTestApp()
  const nested = '['.repeat(3_000) + ']'.repeat(3_000)
  for (const body of [nested, `{"passkey":{"clientExtensionResults":{"a":${nested}}}}`]) {
    const { status, json } = await knock(app, 'sign-in', body)
    expect([status, json.code]).toEqual([400, 'malformed_request'])
  }
})

test('a stranger’s body is read up to 64 KiB', async () => {
  await using app = await createTestApp()
  const { status, json } = await knock(app, 'link', JSON.stringify({ token: 'x'.repeat(70_000) }))
  expect([status, json.code]).toEqual([413, 'payload_too_large'])
})

test('nothing but JSON is read', async () => {
  await using app = await createTestApp()
  for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data']) {
    const { status } = await knock(app, 'link', 'token=x', { 'content-type': type })
    expect([type, status]).toEqual([type, 415])
  }
})

test('who is not signed in is told so, whatever they send', async () => {
  await using app = await createTestApp()
  for (const body of ['[]', 'null', '{"base":"x"}']) {
    const { status } = await app.ask('POST', '/console/api/settings/publish', {
      body,
      headers: { ...OURS, ...JSON_TYPE },
    })
    expect([body, status]).toEqual([body, 401])
  }
})

test('an operator’s text that cannot be stored is refused', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  const { version, content } = await ann.read('settings')
  for (const note of ['a\u0000b', '\ud800']) {
    const json = { base: version, note, content }
    expect((await ann.ask('POST', 'settings/publish', { json })).status).toBe(422)
  }
})

test('a long list of questions can be published', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  const content = Array.from({ length: 300 }, (_, at) => {
    return { question: `Question ${at}?`, answer: 'so '.repeat(300), category: 'all' }
  })
  const json = { base: 0, note: '', content }
  expect(JSON.stringify(json).length).toBeGreaterThan(250_000)
  expect((await ann.ask('POST', 'faqs/publish', { json })).status).toBe(200)
})

function knock(app: TestApp, path: string, body: string, headers = JSON_TYPE) {
  return app.ask('POST', `/console/api/door/${path}`, { body, headers: { ...OURS, ...headers } })
}

test('the console works where apps must seal what they send', async () => {
  await using app = await createTestApp({ PAYLOAD_ENCRYPTION: 'required' })
  const ann = await signInOperator(app)
  expect((await ann.ask('GET', 'overview')).status).toBe(200)
  expect((await app.ask('GET', '/api/user/app_settings/v1')).status).toBe(403)
})
