import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { type Answer, createTestApp, type TestApp } from '../../support/app.ts'
import { cookieIn, signInOperator } from '../../support/operator.ts'
import { createPasskey, type Passkey } from '../../support/passkey.ts'

const ORIGIN = 'http://localhost'
const MINUTE = 60_000

/** Invalid responses from devices and pages, each with the origin that the request claims. */
const INVALID_RESPONSES = {
  'a page of another origin': [{ origin: 'http://localhost:8080' }, ORIGIN],
  'a page of another host': [{ origin: 'https://evil.example' }, ORIGIN],
  'another host that the request also claims': [
    { origin: 'https://evil.example', host: 'evil.example' },
    'https://evil.example',
  ],
  'a subdomain of ours that the request also claims': [
    { origin: 'http://evil.localhost' },
    'http://evil.localhost',
  ],
  'a passkey for another host': [{ host: 'evil.example' }, ORIGIN],
  'a device that did not verify its user': [{ isVerified: false }, ORIGIN],
  'a challenge that was never issued': [{ challenge: 'bm90IG1hZGUgYnkgdXM' }, ORIGIN],
} as const

test('a passkey sets up an operator, signs in and confirms an action', async () => {
  await using app = await createTestApp()
  const { key, ask } = await setUpWithPasskey(app)
  const options = (await postLogin(app, 'passkey')).json.response
  expect(options).toMatchObject({ rpId: 'localhost', userVerification: 'required' })
  expect(options.allowCredentials).toEqual([])
  const reply = await postLogin(app, 'sign-in', { passkey: key.authenticate(options) })
  expect([reply.status, reply.json.response]).toEqual([200, { name: 'ann' }])

  app.clock.advance(11 * MINUTE)
  const isRefused = async () => (await ask('GET', 'audit/export')).status === 403
  expect(await isRefused()).toBe(true)
  const asked = (await ask('POST', 'me/proof/passkey')).json.response
  expect(asked.allowCredentials).toMatchObject([{ id: key.id }])
  expect((await ask('POST', 'me/proof', { passkey: key.authenticate(asked) })).status).toBe(200)
  expect(await isRefused()).toBe(false)
  const { passkeys } = (await ask('GET', 'me')).json.response
  expect(passkeys).toMatchObject([{ id: key.id, name: 'Phone', host: 'localhost' }])
  expect(passkeys[0].lastUsedAt).toBe(app.clock.now.toISOString())
})

test('a challenge works once, within 5 minutes, and only for its own purpose', async () => {
  await using app = await createTestApp()
  const { key, ask } = await setUpWithPasskey(app)
  const challenge = async () => (await postLogin(app, 'passkey')).json.response
  const signIn = async (options: { challenge: string }) =>
    (await postLogin(app, 'sign-in', { passkey: key.authenticate(options) })).status
  const once = await challenge()
  expect([await signIn(once), await signIn(once)]).toEqual([200, 401])

  const forProof = (await ask('POST', 'me/proof/passkey')).json.response
  expect(await signIn(forProof)).toBe(401)
  const forNew = (await ask('POST', 'me/passkeys/options')).json.response
  expect(await signIn(forNew)).toBe(401)
  const prove = async (options: { challenge: string }) =>
    (await ask('POST', 'me/proof', { passkey: key.authenticate(options) })).status
  expect(await prove((await ask('POST', 'me/passkeys/options')).json.response)).toBe(401)
  expect(await prove(await challenge())).toBe(401)

  const [soon, late] = [await challenge(), await challenge()]
  app.clock.advance(5 * MINUTE - 1_000)
  expect(await signIn(soon)).toBe(200)
  app.clock.advance(1_000)
  expect(await signIn(late)).toBe(401)
})

// A passkey created on another host is accepted, because it only works there.
const INVALID_AT_OUR_ORIGIN = Object.entries(INVALID_RESPONSES).filter(
  ([, [, origin]]) => origin === ORIGIN,
)

test.each(INVALID_AT_OUR_ORIGIN)('%s does not set up an operator', async (_name, [overrides]) => {
  await using app = await createTestApp()
  const { token } = await app.services.operators.accounts.add('ann', 'owner')
  const options = (await postLogin(app, 'link', { token })).json.response.passkey
  const key = createPasskey()
  const json = { token, passkey: key.register(options, overrides), passkeyName: 'Phone' }
  const refused = await postLogin(app, 'set-up', json)
  expect([refused.status, refused.json.code]).toEqual([401, 'invalid_credentials'])
  expect((await app.services.operators.accounts.list())[0]?.isSetUp).toBe(false)
  // The link stays valid, but the challenge is used up.
  const again = (await postLogin(app, 'link', { token })).json.response.passkey
  const good = { ...json, passkey: key.register(again) }
  expect((await postLogin(app, 'set-up', good)).status).toBe(200)
})

test.each(Object.entries(INVALID_RESPONSES))(
  '%s neither signs in nor confirms an action',
  async (_name, [overrides, origin]) => {
    await using app = await createTestApp()
    const { key, ask } = await setUpWithPasskey(app)
    const options = (await postLogin(app, 'passkey', {}, origin)).json.response
    const passkey = key.authenticate(options, overrides)
    const refused = await postLogin(app, 'sign-in', { passkey }, origin)
    expect([refused.status, refused.json.code]).toEqual([401, 'invalid_credentials'])
    expect(refused.headers.get('set-cookie')).toBeNull()
    const again = (await ask('POST', 'me/proof/passkey', {}, origin)).json.response
    const proof = { passkey: key.authenticate(again, overrides) }
    expect((await ask('POST', 'me/proof', proof, origin)).status).toBe(401)
  },
)

test('with BASE_URL set, refuses pages on another port', async () => {
  const ours = 'https://api.example.com'
  await using app = await createTestApp({ BASE_URL: ours })
  for (const origin of [ours, `${ours}:8443`]) {
    const { status } = await postLogin(app, 'passkey', {}, origin)
    expect([origin, status]).toEqual([origin, origin === ours ? 200 : 403])
  }
})

test('refuses a signature by another key or over other data', async () => {
  await using app = await createTestApp()
  const { key } = await setUpWithPasskey(app)
  const authenticate = async () => key.authenticate((await postLogin(app, 'passkey')).json.response)
  const stranger = createPasskey()
  const options = (await postLogin(app, 'passkey')).json.response
  const forged = { ...stranger.authenticate(options), id: key.id, rawId: key.id }
  const shown = await authenticate()
  const other = await authenticate()
  const mixed = {
    ...shown,
    response: { ...shown.response, signature: other.response['signature'] },
  }
  for (const passkey of [forged, mixed, stranger.authenticate(options), { ...shown, id: 'A' }]) {
    expect((await postLogin(app, 'sign-in', { passkey })).status).toBe(401)
  }
})

test('refuses a passkey whose counter goes back, because it may be a copy', async () => {
  await using app = await createTestApp()
  const { key } = await setUpWithPasskey(app)
  const options = async () => (await postLogin(app, 'passkey')).json.response
  const [first, second] = [await options(), await options()]
  const [older, newer] = [key.authenticate(first), key.authenticate(second)]
  expect((await postLogin(app, 'sign-in', { passkey: newer })).status).toBe(200)
  expect((await postLogin(app, 'sign-in', { passkey: older })).status).toBe(401)
})

test('the passkey of another operator does not confirm an action', async () => {
  await using app = await createTestApp()
  const ann = await setUpWithPasskey(app)
  const bob = await setUpWithPasskey(app, 'bob')
  app.clock.advance(11 * MINUTE)
  const own = (await ann.ask('POST', 'me/proof/passkey')).json.response
  expect((await ann.ask('POST', 'me/proof', { passkey: bob.key.authenticate(own) })).status).toBe(
    401,
  )
  const his = (await bob.ask('POST', 'me/proof/passkey')).json.response
  expect((await ann.ask('POST', 'me/proof', { passkey: bob.key.authenticate(his) })).status).toBe(
    401,
  )
  expect((await ann.ask('POST', 'me/proof', { passkey: ann.key.authenticate(his) })).status).toBe(
    401,
  )
  expect((await ann.ask('GET', 'audit/export')).status).toBe(403)
})

test('a passkey with the longest id that WebAuthn allows can be removed', async () => {
  await using app = await createTestApp()
  const { ask } = await setUpWithPasskey(app)
  const long = createPasskey(ORIGIN, 1023)
  const options = (await ask('POST', 'me/passkeys/options')).json.response
  await ask('POST', 'me/passkeys', { passkey: long.register(options), passkeyName: 'Key' })
  expect((await ask('POST', `me/passkeys/${long.id}/remove`)).status).toBe(200)
})

test('the only sign-in method cannot be removed, but one of two can', async () => {
  await using app = await createTestApp()
  const { key, ask } = await setUpWithPasskey(app)
  const remove = async (id: string) => (await ask('POST', `me/passkeys/${id}/remove`)).status
  expect(await remove(key.id)).toBe(409)
  const second = createPasskey()
  const options = (await ask('POST', 'me/passkeys/options')).json.response
  expect(options.excludeCredentials).toMatchObject([{ id: key.id }])
  const added = { passkey: second.register(options), passkeyName: 'Key ring' }
  expect((await ask('POST', 'me/passkeys', added)).status).toBe(200)
  const askWithSecond = await signInWith(app, second)
  expect(await remove(key.id)).toBe(200)
  expect((await askWithSecond('POST', `me/passkeys/${key.id}/remove`)).status).toBe(404)
  expect((await askWithSecond('POST', `me/passkeys/${second.id}/remove`)).status).toBe(409)
  const challenge = (await postLogin(app, 'passkey')).json.response
  const passkey = key.authenticate(challenge)
  expect((await postLogin(app, 'sign-in', { passkey })).status).toBe(401)
})

test('removing a passkey ends its sessions and its confirmations in other sessions', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  const key = createPasskey()
  const options = (await ann.ask('POST', 'me/passkeys/options')).json.response
  const json = { passkey: key.register(options), passkeyName: 'Lost phone' }
  expect((await ann.ask('POST', 'me/passkeys', { json })).status).toBe(200)
  const [thief, other] = [await signInWith(app, key), await signInWith(app, key)]
  expect((await thief('POST', 'me/proof', { code: ann.recoveryCodes[0] })).status).toBe(200)
  const bob = await setUpWithPasskey(app, 'bob')
  app.clock.advance(11 * MINUTE)
  const asked = (await ann.ask('POST', 'me/proof/passkey')).json.response
  const proof = { passkey: key.authenticate(asked) }
  expect((await ann.ask('POST', 'me/proof', { json: proof })).status).toBe(200)
  expect((await ann.ask('POST', `me/passkeys/${key.id}/remove`)).status).toBe(200)
  for (const ask of [thief, other]) expect((await ask('GET', 'me')).status).toBe(401)
  expect((await ann.ask('GET', 'me')).status).toBe(200)
  expect((await ann.ask('GET', 'audit/export')).status).toBe(403)
  expect((await bob.ask('GET', 'me')).status).toBe(200)
  const { entries } = await ann.read('audit?action=operators.remove-passkey')
  expect(entries).toMatchObject([{ target: key.id, after: { sessionsEnded: 2 } }])
})

test('a session without a recorded passkey ends when any passkey of its operator is removed', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  const key = createPasskey()
  const options = (await ann.ask('POST', 'me/passkeys/options')).json.response
  const json = { passkey: key.register(options), passkeyName: '' }
  await ann.ask('POST', 'me/passkeys', { json })
  const askWithKey = await signInWith(app, key)
  const { db } = app.services
  const { operatorSessions } = db.tables
  await db.write(async (tx) => {
    const unknown = { openedWith: null, provenWith: null }
    await tx.update(operatorSessions).set(unknown).where(eq(operatorSessions.openedWith, key.id))
  })
  expect((await ann.ask('POST', `me/passkeys/${key.id}/remove`)).status).toBe(200)
  expect((await askWithKey('GET', 'me')).status).toBe(401)
})

test('with a password, an operator can remove their last passkey, but no one else’s', async () => {
  await using app = await createTestApp()
  const bob = await setUpWithPasskey(app, 'bob')
  const ann = await signInOperator(app)
  const key = createPasskey()
  const options = (await ann.ask('POST', 'me/passkeys/options')).json.response
  const json = { passkey: key.register(options), passkeyName: '' }
  expect((await ann.ask('POST', 'me/passkeys', { json })).status).toBe(200)
  expect((await ann.read('me')).passkeys).toMatchObject([{ name: 'Passkey' }])
  expect((await ann.ask('POST', `me/passkeys/${bob.key.id}/remove`)).status).toBe(404)
  expect((await ann.ask('POST', `me/passkeys/${key.id}/remove`)).status).toBe(200)
})

test('refuses a passkey that is already registered', async () => {
  await using app = await createTestApp()
  const bob = await setUpWithPasskey(app, 'bob')
  const ann = await setUpWithPasskey(app)
  const options = (await ann.ask('POST', 'me/passkeys/options')).json.response
  const json = { passkey: bob.key.register(options), passkeyName: 'Not mine' }
  expect((await ann.ask('POST', 'me/passkeys', json)).status).toBe(409)
})

test('a page without a valid origin gets no challenge', async () => {
  await using app = await createTestApp()
  for (const origin of ['null', 'nowhere', '']) {
    const { status } = await postLogin(app, 'passkey', {}, origin)
    expect([400, 403]).toContain(status)
  }
})

function postLogin(app: TestApp, path: string, json: unknown = {}, origin = ORIGIN) {
  const headers = { 'sec-fetch-site': 'same-origin', origin, ...hostOf(origin) }
  return app.ask('POST', `/console/api/login/${path}`, { json, headers })
}

/** Sets an operator up with a passkey, and returns a requester for their session. */
async function setUpWithPasskey(app: TestApp, name = 'ann') {
  const { token } = await app.services.operators.accounts.add(name, 'owner')
  const offered = (await postLogin(app, 'link', { token })).json.response
  const key = createPasskey()
  const json = { token, passkey: key.register(offered.passkey), passkeyName: 'Phone' }
  const reply = await postLogin(app, 'set-up', json)
  expect(reply.json.response).toEqual({ name, recoveryCodes: [] })
  return { key, ask: requesterFor(app, reply) }
}

/** Signs in with a passkey, and returns a requester for the new session. */
async function signInWith(app: TestApp, key: Passkey) {
  const passkey = key.authenticate((await postLogin(app, 'passkey')).json.response)
  return requesterFor(app, await postLogin(app, 'sign-in', { passkey }))
}

function requesterFor(app: TestApp, { headers }: Answer) {
  const cookie = cookieIn(headers.get('set-cookie')).replace(/.*/, '$&; __Host-$&')
  return (method: string, path: string, json: unknown = {}, origin = ORIGIN) => {
    const headers = { cookie, 'sec-fetch-site': 'same-origin', origin, ...hostOf(origin) }
    const init = method === 'GET' ? { headers: { cookie } } : { json, headers }
    return app.ask(method, `/console/api/${path}`, init)
  }
}

/** The Host header of a request to `origin`. */
function hostOf(origin: string) {
  const url = URL.parse(origin)
  return url ? { host: url.host } : {}
}
