import { expect, test } from 'bun:test'
import { setPeerAddress } from '../../../src/platform/http/request/client-address.ts'
import { type Answer, createTestApp, PASSWORD, type TestApp } from '../../support/app.ts'

const DAY = 86_400_000
const EMAIL = 'ann@example.com'
const PHONE = "Ann's phone"
const HOME = '203.0.113.1'
const CAFE = '203.0.113.2'
const STRANGER = '198.51.100.66'

type Origin = { from: string; device?: string; token?: string }

/** Ann has signed in at home with her phone. */
async function setUp() {
  const app = await createTestApp()
  const register = { email: EMAIL, password: PASSWORD }
  const { json } = await post(app, 'register/v1', register, { from: HOME, device: PHONE })
  return {
    app,
    ann: json.response as { accessToken: string; user: { _id: string } },
    login: async (origin: Origin, password = PASSWORD, email = EMAIL) =>
      (await post(app, 'login/v1', { email, password }, origin)).status,
    async failFive(origin: Origin, email = EMAIL) {
      for (let at = 0; at < 5; at++)
        expect(await this.login(origin, 'wrong password', email)).toBe(401)
    },
    [Symbol.asyncDispose]: () => app[Symbol.asyncDispose](),
  }
}

async function post(app: TestApp, path: string, body: object, { from, device, token }: Origin) {
  const request = new Request(`http://localhost/api/auth/${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(device === undefined ? {} : { device }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    },
    body: JSON.stringify(body),
  })
  setPeerAddress(request, from)
  const reply: Response = await app.app.handle(request)
  return { status: reply.status, json: (await reply.json()) as Answer['json'] }
}

test("a stranger's wrong passwords do not lock the owner out of a network with earlier sign-ins", async () => {
  await using setup = await setUp()
  for (let round = 0; round < 3; round++) {
    const statuses = []
    for (let at = 0; at < 8; at++)
      statuses.push(await setup.login({ from: STRANGER }, 'wrong password'))
    expect(statuses.slice(-2)).toEqual([429, 429])
    expect(await setup.login({ from: HOME, device: PHONE })).toBe(200)
    expect(await setup.login({ from: HOME, device: 'New tablet' })).toBe(200)
  }
})

test('a stranger stays locked out, even with the right password and after the owner has signed in', async () => {
  await using setup = await setUp()
  await setup.failFive({ from: STRANGER })
  expect(await setup.login({ from: HOME, device: PHONE })).toBe(200)
  expect(await setup.login({ from: STRANGER })).toBe(429)
  expect(await setup.login({ from: CAFE })).toBe(429)
})

test('a known device’s name proves nothing', async () => {
  await using setup = await setUp()
  await setup.failFive({ from: STRANGER })
  expect(await setup.login({ from: STRANGER, device: PHONE })).toBe(429)
})

test('a token of the user identifies the owner on any network, even after it has expired', async () => {
  await using setup = await setUp()
  const token = setup.ann.accessToken
  await setup.failFive({ from: STRANGER })
  await post(setup.app, 'logout/v1', {}, { from: HOME, token })
  expect(await setup.login({ from: CAFE, token })).toBe(200)
  setup.app.clock.advance(30 * 60_000)
  expect(await setup.login({ from: STRANGER, token: 'x' }, 'wrong password')).toBe(401)
  expect(await setup.login({ from: STRANGER, token: 'x' })).toBe(429)
  expect(await setup.login({ from: '203.0.113.3', token })).toBe(200)
})

test('tokens of ended sessions count together, and those of open sessions separately', async () => {
  await using setup = await setUp()
  const signIn = async () => {
    const login = { email: EMAIL, password: PASSWORD }
    return (await post(setup.app, 'login/v1', login, { from: STRANGER })).json.response.accessToken
  }
  const [first, second] = [await signIn(), await signIn()]
  await setup.app.services.users.accountSecurity.signOut(setup.ann.user._id)
  setup.app.clock.advance(91 * DAY)
  const [open, other] = [await signIn(), await signIn()]
  setup.app.clock.advance(91 * DAY)
  await setup.failFive({ from: CAFE, token: first })
  expect(await setup.login({ from: CAFE, token: second })).toBe(429)
  await setup.failFive({ from: CAFE, token: open })
  expect(await setup.login({ from: CAFE, token: other })).toBe(200)
})

test("a forged token, and another user's, prove nothing", async () => {
  await using setup = await setUp()
  await setup.failFive({ from: STRANGER })
  const { accessToken: foreign } = await setup.app.register()
  const [head, , signature] = foreign.split('.')
  const forged = [head, setup.ann.accessToken.split('.')[1], signature].join('.')
  for (const token of [foreign, forged])
    expect(await setup.login({ from: STRANGER, token })).toBe(429)
})

test('known devices on one network count separately, and all others together', async () => {
  await using setup = await setUp()
  for (const device of ['a', 'b', 'c', 'd', 'e'])
    expect(await setup.login({ from: HOME, device }, 'wrong password')).toBe(401)
  expect(await setup.login({ from: HOME, device: 'f' })).toBe(429)
  expect(await setup.login({ from: HOME, device: PHONE })).toBe(200)
  expect(await setup.login({ from: CAFE })).toBe(200)
})

test('the owner’s failed attempts are limited too, and a new password resets their count', async () => {
  await using setup = await setUp()
  await setup.failFive({ from: HOME, device: PHONE })
  expect(await setup.login({ from: HOME, device: PHONE })).toBe(429)
  const { db, users } = setup.app.services
  const token = await db.write((tx) =>
    users.oneTimeTokens.issue(tx, 'reset-password', setup.ann.user._id, EMAIL),
  )
  const json = { token, newPassword: 'another good one' }
  expect((await setup.app.ask('POST', '/api/auth/password/v1/reset', { json })).status).toBe(200)
  expect(await setup.login({ from: HOME, device: PHONE }, 'another good one')).toBe(200)
})

test('a wrong password does not make a network known', async () => {
  await using setup = await setUp()
  await setup.failFive({ from: STRANGER })
  await post(setup.app, 'guest/v1', {}, { from: STRANGER })
  expect(await setup.login({ from: STRANGER })).toBe(429)
})

test('an unknown address is locked in the same way as a known one', async () => {
  await using setup = await setUp()
  for (const email of [EMAIL, 'nobody@example.com']) {
    await setup.failFive({ from: STRANGER }, email)
    expect(await setup.login({ from: STRANGER }, PASSWORD, email)).toBe(429)
    expect(await setup.login({ from: CAFE, token: 'x' }, PASSWORD, email)).toBe(429)
  }
})

test('a network is forgotten after 90 days without a sign-in', async () => {
  await using setup = await setUp()
  setup.app.clock.advance(91 * DAY)
  await setup.failFive({ from: STRANGER })
  expect(await setup.login({ from: HOME, device: PHONE })).toBe(429)
  setup.app.clock.advance(DAY)
  await setup.app.services.limits.sweep()
  const { db } = setup.app.services
  const rows = await db.read.select().from(db.tables.limits)
  expect(rows.filter(({ key }) => key.startsWith('known-network'))).toEqual([])
})

test("a stranger's wrong e-mail codes do not lock the owner out either", async () => {
  await using setup = await setUp()
  const { emailCodes } = setup.app.services.users
  const verify = async (origin: Origin, code?: string) => {
    const { json } = await post(setup.app, 'email_code/v1', { email: EMAIL }, { from: origin.from })
    const { requestToken } = json.response
    const answer = { requestToken, code: code ?? emailCodes.deriveCode(requestToken) }
    const tries = []
    for (let at = 0; at < (code === undefined ? 1 : 5); at++)
      tries.push((await post(setup.app, 'email_code/v1/verify', answer, origin)).status)
    return tries
  }
  for (let at = 0; at < 4; at++) await verify({ from: `198.51.100.${at}` }, 'none00')
  expect(await verify({ from: STRANGER })).toEqual([429])
  expect(await verify({ from: HOME, device: PHONE })).toEqual([200])
})

test("a stranger's requests for codes do not use up the owner's limit", async () => {
  await using setup = await setUp()
  const ask = async (origin: Origin) =>
    (await post(setup.app, 'email_code/v1', { email: EMAIL }, origin)).status
  for (let at = 0; at < 10; at++) expect(await ask({ from: `198.51.100.${at}` })).toBe(200)
  expect(await ask({ from: STRANGER })).toBe(429)
  expect(await ask({ from: HOME, device: PHONE })).toBe(200)
  expect(await ask({ from: CAFE, token: setup.ann.accessToken })).toBe(200)
})
