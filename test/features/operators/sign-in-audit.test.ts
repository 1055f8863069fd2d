import { expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { cookieIn, type OperatorBrowser, signInOperator } from '../../support/operator.ts'
import { createPasskey } from '../../support/passkey.ts'

const HEADERS = { 'sec-fetch-site': 'same-origin', origin: 'http://localhost', device: 'Laptop' }
const MINUTE = 60_000

test('audits a failed operator sign-in with the IP address but without the input', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  const typed = { name: 'ann', password: 'not her password', code: '000000' }
  expect((await postLogin(app, 'sign-in', typed)).status).toBe(401)
  const stranger = { ...typed, name: 'correct horse battery' }
  expect((await postLogin(app, 'sign-in', stranger)).status).toBe(401)
  const options = (await postLogin(app, 'passkey')).json.response
  expect(
    (await postLogin(app, 'sign-in', { passkey: createPasskey().authenticate(options) })).status,
  ).toBe(401)
  const { entries } = await ann.read('audit?action=operators.sign-in-failed')
  const entry = { origin: 'unknown', requestId: expect.any(String) }
  expect(entries).toMatchObject([
    { ...entry, operator: '(unknown)', after: { device: 'Laptop', with: 'passkey' } },
    { ...entry, operator: '(unknown)', after: { device: 'Laptop', with: 'password' } },
    { ...entry, operator: 'ann', after: { device: 'Laptop', with: 'password' } },
  ])
  for (const text of ['correct horse', 'not her password', '000000']) {
    expect(JSON.stringify(entries)).not.toContain(text)
  }
})

test('audits failed sign-ins with unknown names at most 100 times an hour', async () => {
  await using app = await createTestApp()
  const statuses: number[] = []
  for (let at = 0; at < 110; at++) {
    // An IP address may try 60 times in 5 minutes.
    if (at === 60) app.clock.advance(5 * MINUTE)
    const typed = { name: `nobody ${at}`, password: 'x', code: '000000' }
    statuses.push((await postLogin(app, 'sign-in', typed)).status)
  }
  expect(new Set(statuses)).toEqual(new Set([401]))
  const failed = { action: 'operators.sign-in-failed', limit: 200 }
  const { entries } = await app.services.operators.audit.list(failed)
  expect(entries).toHaveLength(100)
})

test('sign-ins that a rate limit refuses are not audited as failed', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  const typed = { name: 'ann', password: 'not her password', code: '000000' }
  for (let at = 0; at < 8; at++) await postLogin(app, 'sign-in', typed)
  const { entries } = await ann.read('audit?action=operators.sign-in-failed')
  expect(entries).toHaveLength(5)
})

test('audits proofs, including failed ones', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  expect((await prove(ann, '000000')).status).toBe(401)
  app.clock.advance(MINUTE)
  expect((await prove(ann, ann.codeNow())).status).toBe(200)
  const [success, failure] = (await ann.read('audit')).entries
  expect(success).toMatchObject({
    action: 'operators.proof',
    operator: 'ann',
    after: { with: 'code' },
  })
  expect(failure).toMatchObject({ action: 'operators.proof-failed', operator: 'ann' })
})

test('audits signing out of the current session and of another', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  const elsewhere = await postLogin(app, 'sign-in', {
    name: 'ann',
    password: ann.password,
    code: ann.recoveryCodes[0],
  })
  const cookie = cookieIn(elsewhere.headers.get('set-cookie'))
  const { session } = (await ann.ask('GET', 'me', { headers: { cookie } })).json.response
  expect((await ann.ask('POST', `me/sessions/${session}/end`)).status).toBe(200)
  expect((await ann.ask('POST', 'me/sessions/unknown/end')).status).toBe(404)
  expect((await ann.ask('POST', 'me/sign-out')).status).toBe(200)
  const { entries } = await app.services.operators.audit.list({ limit: 2 })
  expect(entries).toMatchObject([
    { action: 'operators.sign-out', operator: 'ann' },
    { action: 'operators.end-session', operator: 'ann', before: { device: 'Laptop' } },
  ])
})

function postLogin(app: TestApp, path: string, json: unknown = {}) {
  return app.ask('POST', `/console/api/login/${path}`, { json, headers: HEADERS })
}

function prove(browser: OperatorBrowser, code: string) {
  return browser.ask('POST', 'me/proof', { json: { code } })
}
