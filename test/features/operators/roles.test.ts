import { expect, test } from 'bun:test'
import { createTestApp } from '../../support/app.ts'
import { cookieIn, signInOperator } from '../../support/operator.ts'

test('an owner adds operators and gets a setup link to the console', async () => {
  await using app = await createTestApp({ BASE_URL: 'https://api.example.com' })
  const ann = await signInOperator(app)
  const json = { name: 'bob', role: 'reader' }
  const made = await ann.ask('POST', 'operators', { json })
  expect(made.status).toBe(200)
  expect(made.json.response.name).toBe('bob')
  expect(made.json.response.link).toMatch(/^https:\/\/api\.example\.com\/console#setup=[\w-]{43}$/)
  expect(await ann.read('operators')).toMatchObject([
    { name: 'ann', role: 'owner', isSetUp: true, hasPassword: true, passkeys: 0 },
    { name: 'bob', role: 'reader', isSetUp: false, hasPassword: false },
  ])
  expect((await ann.ask('POST', 'operators', { json })).status).toBe(409)
  for (const name of ['', ' bob', '../x', 'x'.repeat(65)]) {
    const refused = await ann.ask('POST', 'operators', { json: { ...json, name } })
    expect([name, refused.status]).toEqual([name, 422])
  }
})

test('an owner changes roles with immediate effect, and resets and removes operators', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  const bob = await signInOperator(app, { name: 'bob', role: 'reader' })
  const change = () => bob.ask('POST', 'settings/publish', { json: {} })
  expect((await change()).status).toBe(403)
  const role = { name: 'bob', role: 'operator' }
  expect((await ann.ask('POST', 'operators/role', { json: role })).status).toBe(200)
  expect((await change()).status).toBe(422)
  expect((await bob.read('me')).role).toBe('operator')
  const name = { name: 'bob' }
  const reset = await ann.ask('POST', 'operators/reset', { json: name })
  expect(reset.json.response.link).toContain('#setup=')
  expect((await bob.ask('GET', 'me')).status).toBe(401)
  expect((await ann.ask('POST', 'operators/remove', { json: name })).status).toBe(200)
  expect(await ann.read('operators')).toHaveLength(1)
  for (const act of ['role', 'reset', 'remove']) {
    const json = act === 'role' ? role : name
    expect((await ann.ask('POST', `operators/${act}`, { json })).status).toBe(404)
  }
})

test('the last owner can be neither removed nor demoted', async () => {
  await using app = await createTestApp()
  const { accounts } = app.services.operators
  await signInOperator(app, { name: 'ann' })
  await signInOperator(app, { name: 'bob', role: 'operator' })
  await expect(accounts.remove('ann')).rejects.toMatchObject({ code: 'conflict' })
  for (const role of ['operator', 'reader'] as const) {
    await expect(accounts.changeRole('ann', role)).rejects.toMatchObject({ code: 'conflict' })
  }
  expect(await accounts.changeRole('ann', 'owner')).toBe('owner')
  expect(await accounts.changeRole('bob', 'owner')).toBe('operator')
  await accounts.add('eve', 'owner')
  // Eve has not opened her invitation, and bob could sign in.
  const both = [accounts.remove('ann'), accounts.changeRole('bob', 'reader')]
  const outcomes = await Promise.allSettled(both)
  expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  const owners = (await accounts.list()).filter(({ role }) => role === 'owner')
  expect(owners.filter(({ isSetUp }) => isSetUp)).toHaveLength(1)
})

test('even the last owner can be removed before being set up', async () => {
  await using app = await createTestApp()
  const { accounts } = app.services.operators
  await accounts.add('an', 'owner')
  await accounts.remove('an')
  expect(await accounts.list()).toEqual([])
})

test('the login state shows whether operators exist and whether the caller is signed in', async () => {
  await using app = await createTestApp({ APP_NAME: 'Trees' })
  const state = async (headers = {}) =>
    (await app.ask('GET', '/console/api/login/state', { headers })).json.response
  const identity = { appName: 'Trees', environment: 'Local' }
  const initialState = { ...identity, hasOperators: false, isDemo: false, isSignedIn: false }
  // Only browsers on the same machine get the path of the program.
  const firstCommand = 'homeport operators add your-name'
  expect(await state()).toEqual({ ...initialState, firstCommand })
  const { cookie } = await signInOperator(app)
  const later = { ...initialState, hasOperators: true, firstCommand: null }
  expect(await state()).toEqual(later)
  expect(await state({ cookie })).toEqual({ ...later, isSignedIn: true })
})

test('removing an operator ends their live log stream', async () => {
  await using app = await createTestApp()
  await signInOperator(app)
  const bob = await signInOperator(app, { name: 'bob', role: 'reader' })
  const request = new Request('http://localhost/console/api/live', {
    headers: { cookie: cookieIn(bob.setCookie) },
  })
  const { body } = await app.app.handle(request)
  await using reader = readerOf(body)
  await app.services.operators.accounts.remove('bob')
  app.services.liveLines.tee({ write() {} }).write('{"msg":"after the end"}')
  expect(await reader.rest()).not.toContain('after the end')
})

test.each(['live', 'session'])('the stream %s ends with its session', async (path) => {
  await using app = await createTestApp()
  const { setCookie } = await signInOperator(app)
  const cookie = cookieIn(setCookie)
  const request = new Request(`http://localhost/console/api/${path}`, { headers: { cookie } })
  const { body } = await app.app.handle(request)
  await using reader = readerOf(body)
  const startedAt = performance.now()
  const other = { headers: { cookie, 'sec-fetch-site': 'same-origin' }, json: {} }
  expect((await app.ask('POST', '/console/api/me/sign-out', other)).status).toBe(200)
  await reader.rest()
  // Without the sign-out, the next comment would follow after five seconds.
  expect(performance.now() - startedAt).toBeLessThan(1_000)
})

function readerOf(body: ReadableStream<Uint8Array> | null) {
  const reader = (body as ReadableStream<Uint8Array>).getReader()
  return { rest, [Symbol.asyncDispose]: () => reader.cancel() }

  /** The text until the stream ends. */
  async function rest(): Promise<string> {
    let text = ''
    for (;;) {
      const { value, done } = await reader.read()
      if (done) return text
      text += new TextDecoder().decode(value)
    }
  }
}

test.each(['same-site', 'cross-site'])('refuses reads from a %s page', async (site) => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  const headers = { 'sec-fetch-site': site }
  expect((await ann.ask('GET', 'audit', { headers })).status).toBe(403)
})

test('owners cannot reset their own sign-in, as their session would end before they see the link', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app, { name: 'ann' })
  const { status, json } = await ann.ask('POST', 'operators/reset', { json: { name: 'ann' } })
  expect([status, json.code]).toEqual([409, 'conflict'])
  expect(json.message).toContain('homeport operators reset ann')
  expect((await ann.ask('GET', 'me')).status).toBe(200)
})
