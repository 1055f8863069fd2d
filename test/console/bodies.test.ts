import { expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../support/app.ts'
import { signInOperator } from '../support/operator.ts'

const SAME_ORIGIN = { 'sec-fetch-site': 'same-origin', origin: 'http://localhost' }
const JSON_TYPE = { 'content-type': 'application/json' }

test('refuses deeply nested JSON', async () => {
  await using app = await createTestApp()
  const nested = '['.repeat(3_000) + ']'.repeat(3_000)
  for (const body of [nested, `{"passkey":{"clientExtensionResults":{"a":${nested}}}}`]) {
    const { status, json } = await askLogin(app, 'sign-in', body)
    expect([status, json.code]).toEqual([400, 'malformed_request'])
  }
})

test('reads at most 64 KiB before sign-in', async () => {
  await using app = await createTestApp()
  const { status, json } = await askLogin(
    app,
    'link',
    JSON.stringify({ token: 'x'.repeat(70_000) }),
  )
  expect([status, json.code]).toEqual([413, 'payload_too_large'])
})

test('accepts JSON only', async () => {
  await using app = await createTestApp()
  for (const type of ['application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data']) {
    const { status } = await askLogin(app, 'link', 'token=x', { 'content-type': type })
    expect([type, status]).toEqual([type, 415])
  }
})

test('asks for sign-in before it validates the body', async () => {
  await using app = await createTestApp()
  for (const body of ['[]', 'null', '{"base":"x"}']) {
    const { status } = await app.ask('POST', '/console/api/settings/publish', {
      body,
      headers: { ...SAME_ORIGIN, ...JSON_TYPE },
    })
    expect([body, status]).toEqual([body, 401])
  }
})

test('refuses text that cannot be stored', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  const { version, content } = await ann.read('settings')
  for (const note of ['a\u0000b', '\ud800']) {
    const json = { base: version, note, content }
    expect((await ann.ask('POST', 'settings/publish', { json })).status).toBe(422)
  }
})

test('publishes a list of more than 250 kB', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  const content = Array.from({ length: 300 }, (_, at) => {
    return { question: `Question ${at}?`, answer: 'so '.repeat(300), category: 'all' }
  })
  const json = { base: 0, note: '', content }
  expect(JSON.stringify(json).length).toBeGreaterThan(250_000)
  expect((await ann.ask('POST', 'faqs/publish', { json })).status).toBe(200)
})

function askLogin(app: TestApp, path: string, body: string, headers = JSON_TYPE) {
  return app.ask('POST', `/console/api/login/${path}`, {
    body,
    headers: { ...SAME_ORIGIN, ...headers },
  })
}

test('the console works even if apps must seal their requests', async () => {
  await using app = await createTestApp({ PAYLOAD_ENCRYPTION: 'required' })
  const ann = await signInOperator(app)
  expect((await ann.ask('GET', 'overview')).status).toBe(200)
  expect((await app.ask('GET', '/api/user/app_settings/v1')).status).toBe(403)
})

test('does not read the body of an anonymous request where none is expected', async () => {
  await using app = await createTestApp()
  const { status } = await askLogin(app, 'passkey', '{"not": "JSON"')
  expect(status).toBe(200)
})
