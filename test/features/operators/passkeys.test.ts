import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { type Answer, createTestApp, type TestApp } from '../../support/app.ts'
import { cookieIn, signInOperator } from '../../support/operator.ts'
import { createPasskey, type Passkey } from '../../support/passkey.ts'

const ORIGIN = 'http://localhost'
const MINUTE = 60_000

/** What a device or a page may do wrong, with what the request says of its page. */
const LIES = {
  'a page of another origin': [{ origin: 'http://localhost:8080' }, ORIGIN],
  'a page of another host': [{ origin: 'https://evil.example' }, ORIGIN],
  'another host, which the request admits to': [
    { origin: 'https://evil.example', host: 'evil.example' },
    'https://evil.example',
  ],
  'a host below ours, which the request admits to': [
    { origin: 'http://evil.localhost' },
    'http://evil.localhost',
  ],
  'a passkey for another host': [{ host: 'evil.example' }, ORIGIN],
  'a device that did not check who holds it': [{ isVerified: false }, ORIGIN],
  'a challenge that was never made': [{ challenge: 'bm90IG1hZGUgYnkgdXM' }, ORIGIN],
} as const

test('a passkey sets up an operator, signs in and confirms an action', async () => {
  await using app = await createTestApp()
  const { key, ask } = await signInWithPasskey(app)
  const options = (await door(app, 'passkey')).json.response
  expect(options).toMatchObject({ rpId: 'localhost', userVerification: 'required' })
  expect(options.allowCredentials).toEqual([])
  const done = await door(app, 'sign-in', { passkey: key.show(options) })
  expect([done.status, done.json.response]).toEqual([200, { name: 'ann' }])

  app.clock.advance(11 * MINUTE)
  const isRefused = async () => (await ask('GET', 'audit/export')).status === 403
  expect(await isRefused()).toBe(true)
  const asked = (await ask('POST', 'me/proof/passkey')).json.response
  expect(asked.allowCredentials).toMatchObject([{ id: key.id }])
  expect((await ask('POST', 'me/proof', { passkey: key.show(asked) })).status).toBe(200)
  expect(await isRefused()).toBe(false)
  const { passkeys } = (await ask('GET', 'me')).json.response
  expect(passkeys).toMatchObject([{ id: key.id, name: 'Phone', host: 'localhost' }])
  expect(passkeys[0].lastUsedAt).toBe(app.clock.now.toISOString())
})

test('a challenge works once, for 5 minutes, and for what it was made for', async () => {
  await using app = await createTestApp()
  const { key, ask } = await signInWithPasskey(app)
  const challenge = async () => (await door(app, 'passkey')).json.response
  const signIn = async (options: { challenge: string }) =>
    (await door(app, 'sign-in', { passkey: key.show(options) })).status
  const once = await challenge()
  expect([await signIn(once), await signIn(once)]).toEqual([200, 401])

  const forProof = (await ask('POST', 'me/proof/passkey')).json.response
  expect(await signIn(forProof)).toBe(401)
  const forNew = (await ask('POST', 'me/passkeys/options')).json.response
  expect(await signIn(forNew)).toBe(401)
  const prove = async (options: { challenge: string }) =>
    (await ask('POST', 'me/proof', { passkey: key.show(options) })).status
  expect(await prove((await ask('POST', 'me/passkeys/options')).json.response)).toBe(401)
  expect(await prove(await challenge())).toBe(401)

  const [soon, late] = [await challenge(), await challenge()]
  app.clock.advance(5 * MINUTE - 1_000)
  expect(await signIn(soon)).toBe(200)
  app.clock.advance(1_000)
  expect(await signIn(late)).toBe(401)
})

// Whoever makes a passkey at another host says so: it will work there alone.
const LIES_AT_OWN_ORIGIN = Object.entries(LIES).filter(([, [, origin]]) => origin === ORIGIN)

test.each(LIES_AT_OWN_ORIGIN)('%s sets nobody up', async (_name, [lie]) => {
  await using app = await createTestApp()
  const { token } = await app.services.operators.accounts.add('ann', 'owner')
  const options = (await door(app, 'link', { token })).json.response.passkey
  const key = createPasskey()
  const json = { token, passkey: key.make(options, lie), passkeyName: 'Phone' }
  const refused = await door(app, 'set-up', json)
  expect([refused.status, refused.json.code]).toEqual([401, 'invalid_credentials'])
  expect((await app.services.operators.accounts.list())[0]?.isSetUp).toBe(false)
  // The link stands, but the challenge is used up.
  const again = (await door(app, 'link', { token })).json.response.passkey
  const good = { ...json, passkey: key.make(again) }
  expect((await door(app, 'set-up', good)).status).toBe(200)
})

test.each(Object.entries(LIES))(
  '%s signs nobody in, nor shows that it is them',
  async (_name, [lie, origin]) => {
    await using app = await createTestApp()
    const { key, ask } = await signInWithPasskey(app)
    const options = (await door(app, 'passkey', {}, origin)).json.response
    const passkey = key.show(options, lie)
    const refused = await door(app, 'sign-in', { passkey }, origin)
    expect([refused.status, refused.json.code]).toEqual([401, 'invalid_credentials'])
    expect(refused.headers.get('set-cookie')).toBeNull()
    const again = (await ask('POST', 'me/proof/passkey', {}, origin)).json.response
    const proof = { passkey: key.show(again, lie) }
    expect((await ask('POST', 'me/proof', proof, origin)).status).toBe(401)
  },
)

test('with BASE_URL set, refuses pages on another port', async () => {
  const ours = 'https://api.example.com'
  await using app = await createTestApp({ BASE_URL: ours })
  for (const origin of [ours, `${ours}:8443`]) {
    const { status } = await door(app, 'passkey', {}, origin)
    expect([origin, status]).toEqual([origin, origin === ours ? 200 : 403])
  }
})

test('a signature of another key, or of other data, signs nobody in', async () => {
  await using app = await createTestApp()
  const { key } = await signInWithPasskey(app)
  const show = async () => key.show((await door(app, 'passkey')).json.response)
  const stranger = createPasskey()
  const options = (await door(app, 'passkey')).json.response
  const forged = { ...stranger.show(options), id: key.id, rawId: key.id }
  const shown = await show()
  const other = await show()
  const mixed = {
    ...shown,
    response: { ...shown.response, signature: other.response['signature'] },
  }
  for (const passkey of [forged, mixed, stranger.show(options), { ...shown, id: 'A' }]) {
    expect((await door(app, 'sign-in', { passkey })).status).toBe(401)
  }
})

test('a passkey whose counter goes back was copied', async () => {
  await using app = await createTestApp()
  const { key } = await signInWithPasskey(app)
  const options = async () => (await door(app, 'passkey')).json.response
  const [first, second] = [await options(), await options()]
  const [older, newer] = [key.show(first), key.show(second)]
  expect((await door(app, 'sign-in', { passkey: newer })).status).toBe(200)
  expect((await door(app, 'sign-in', { passkey: older })).status).toBe(401)
})

test('the passkey of another operator does not confirm an action', async () => {
  await using app = await createTestApp()
  const ann = await signInWithPasskey(app)
  const bob = await signInWithPasskey(app, 'bob')
  app.clock.advance(11 * MINUTE)
  const own = (await ann.ask('POST', 'me/proof/passkey')).json.response
  expect((await ann.ask('POST', 'me/proof', { passkey: bob.key.show(own) })).status).toBe(401)
  const his = (await bob.ask('POST', 'me/proof/passkey')).json.response
  expect((await ann.ask('POST', 'me/proof', { passkey: bob.key.show(his) })).status).toBe(401)
  expect((await ann.ask('POST', 'me/proof', { passkey: ann.key.show(his) })).status).toBe(401)
  expect((await ann.ask('GET', 'audit/export')).status).toBe(403)
})

test('the only way to sign in cannot be removed, one of two can', async () => {
  await using app = await createTestApp()
  const { key, ask } = await signInWithPasskey(app)
  const remove = async (id: string) => (await ask('POST', `me/passkeys/${id}/remove`)).status
  expect(await remove(key.id)).toBe(409)
  const second = createPasskey()
  const options = (await ask('POST', 'me/passkeys/options')).json.response
  expect(options.excludeCredentials).toMatchObject([{ id: key.id }])
  const added = { passkey: second.make(options), passkeyName: 'Key ring' }
  expect((await ask('POST', 'me/passkeys', added)).status).toBe(200)
  const bySecond = await sessionOf(app, second)
  expect(await remove(key.id)).toBe(200)
  expect((await bySecond('POST', `me/passkeys/${key.id}/remove`)).status).toBe(404)
  expect((await bySecond('POST', `me/passkeys/${second.id}/remove`)).status).toBe(409)
  const challenge = (await door(app, 'passkey')).json.response
  const passkey = key.show(challenge)
  expect((await door(app, 'sign-in', { passkey })).status).toBe(401)
})

test('a session ends with the passkey that opened it, and so does what that has proven elsewhere', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  const key = createPasskey()
  const options = (await ann.ask('POST', 'me/passkeys/options')).json.response
  const json = { passkey: key.make(options), passkeyName: 'Lost phone' }
  expect((await ann.ask('POST', 'me/passkeys', { json })).status).toBe(200)
  const [thief, other] = [await sessionOf(app, key), await sessionOf(app, key)]
  expect((await thief('POST', 'me/proof', { code: ann.recoveryCodes[0] })).status).toBe(200)
  const bob = await signInWithPasskey(app, 'bob')
  app.clock.advance(11 * MINUTE)
  const asked = (await ann.ask('POST', 'me/proof/passkey')).json.response
  const proof = { passkey: key.show(asked) }
  expect((await ann.ask('POST', 'me/proof', { json: proof })).status).toBe(200)
  expect((await ann.ask('POST', `me/passkeys/${key.id}/remove`)).status).toBe(200)
  for (const ask of [thief, other]) expect((await ask('GET', 'me')).status).toBe(401)
  expect((await ann.ask('GET', 'me')).status).toBe(200)
  expect((await ann.ask('GET', 'audit/export')).status).toBe(403)
  expect((await bob.ask('GET', 'me')).status).toBe(200)
  const { entries } = await ann.read('audit?action=operators.remove-passkey')
  expect(entries).toMatchObject([{ target: key.id, after: { sessionsEnded: 2 } }])
})

test('a session without a recorded passkey ends with any passkey of its operator', async () => {
  await using app = await createTestApp()
  const ann = await signInOperator(app)
  const key = createPasskey()
  const options = (await ann.ask('POST', 'me/passkeys/options')).json.response
  const json = { passkey: key.make(options), passkeyName: '' }
  await ann.ask('POST', 'me/passkeys', { json })
  const before = await sessionOf(app, key)
  const { db } = app.services
  const { operatorSessions } = db.tables
  await db.write(async (tx) => {
    const unknown = { openedWith: null, provenWith: null }
    await tx.update(operatorSessions).set(unknown).where(eq(operatorSessions.openedWith, key.id))
  })
  expect((await ann.ask('POST', `me/passkeys/${key.id}/remove`)).status).toBe(200)
  expect((await before('GET', 'me')).status).toBe(401)
})

test('with a password the last passkey can be removed, but not those of others', async () => {
  await using app = await createTestApp()
  const bob = await signInWithPasskey(app, 'bob')
  const ann = await signInOperator(app)
  const key = createPasskey()
  const options = (await ann.ask('POST', 'me/passkeys/options')).json.response
  const json = { passkey: key.make(options), passkeyName: '' }
  expect((await ann.ask('POST', 'me/passkeys', { json })).status).toBe(200)
  expect((await ann.read('me')).passkeys).toMatchObject([{ name: 'Passkey' }])
  expect((await ann.ask('POST', `me/passkeys/${bob.key.id}/remove`)).status).toBe(404)
  expect((await ann.ask('POST', `me/passkeys/${key.id}/remove`)).status).toBe(200)
})

test('a passkey that is somebody’s already is refused', async () => {
  await using app = await createTestApp()
  const bob = await signInWithPasskey(app, 'bob')
  const ann = await signInWithPasskey(app)
  const options = (await ann.ask('POST', 'me/passkeys/options')).json.response
  const json = { passkey: bob.key.make(options), passkeyName: 'Not mine' }
  expect((await ann.ask('POST', 'me/passkeys', json)).status).toBe(409)
})

test('a page without an address gets no challenge', async () => {
  await using app = await createTestApp()
  for (const origin of ['null', 'nowhere', '']) {
    const { status } = await door(app, 'passkey', {}, origin)
    expect([400, 403]).toContain(status)
  }
})

function door(app: TestApp, path: string, json: unknown = {}, origin = ORIGIN) {
  const headers = { 'sec-fetch-site': 'same-origin', origin, ...hostOf(origin) }
  return app.ask('POST', `/console/api/door/${path}`, { json, headers })
}

/** Sets an operator up with a passkey, and asks on in their session. */
async function signInWithPasskey(app: TestApp, name = 'ann') {
  const { token } = await app.services.operators.accounts.add(name, 'owner')
  const offered = (await door(app, 'link', { token })).json.response
  const key = createPasskey()
  const json = { token, passkey: key.make(offered.passkey), passkeyName: 'Phone' }
  const done = await door(app, 'set-up', json)
  expect(done.json.response).toEqual({ name, recoveryCodes: [] })
  return { key, ask: asking(app, done) }
}

/** Asks on in a new session that a passkey opens. */
async function sessionOf(app: TestApp, key: Passkey) {
  const passkey = key.show((await door(app, 'passkey')).json.response)
  return asking(app, await door(app, 'sign-in', { passkey }))
}

function asking(app: TestApp, { headers }: Answer) {
  const cookie = cookieIn(headers.get('set-cookie'))
  return (method: string, path: string, json: unknown = {}, origin = ORIGIN) => {
    const headers = { cookie, 'sec-fetch-site': 'same-origin', origin, ...hostOf(origin) }
    const how = method === 'GET' ? { headers: { cookie } } : { json, headers }
    return app.ask(method, `/console/api/${path}`, how)
  }
}

/** As if the request had come there. */
function hostOf(origin: string) {
  const url = URL.parse(origin)
  return url ? { host: url.host } : {}
}
