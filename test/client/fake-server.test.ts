import { describe, expect, test } from 'bun:test'
import {
  type ApiError,
  createClient,
  type UploadFile,
  type UserProfile,
} from '../../src/client/client.ts'
import { createFakeServer, type FakeServer, UNSUPPORTED } from '../../src/client/testing/testing.ts'
import { codeOf } from '../support/network.ts'

const EMAIL = 'ann@example.com'
const PASSWORD = 'correct horse battery'
const LOGIN = { email: EMAIL, password: PASSWORD }
const LOCAL_FUNCTIONS = [
  'isSignedIn',
  'accessToken',
  'onAuthChange',
  'onChange',
  'onPurchaseResult',
]

function clientOf({ url: baseUrl, fetch, now }: FakeServer, options = {}) {
  return createClient({ baseUrl, fetch, now, ...options })
}

async function signedIn(server: FakeServer) {
  const client = clientOf(server)
  const { user } = await client.register(LOGIN)
  return { client, user }
}

type Reply = Record<'requestToken' | 'challengeToken', string> & { user: UserProfile }

/** Sends JSON as an app without the client does. */
async function post(server: FakeServer, path: string, body: unknown) {
  const reply = await server.fetch(server.url + path, {
    method: 'POST',
    body: JSON.stringify(body),
  })
  return { status: reply.status, ...((await reply.json()) as { code: string; response: Reply }) }
}

test('supports every client function except the listed ones', async () => {
  const names = Object.keys(clientOf(createFakeServer()))
  const unsupported: string[] = []
  for (const name of names.filter((one) => !LOCAL_FUNCTIONS.includes(one))) {
    for (const isSignedIn of [false, true]) {
      const server = createFakeServer()
      const client = isSignedIn ? (await signedIn(server)).client : clientOf(server)
      const call = client[name as keyof typeof client] as (input: unknown) => Promise<unknown>
      const failure = await call({ files: [], purchases: [] }).then(
        () => null,
        (error: ApiError) => error,
      )
      if (/ is not supported$/.test(failure?.message ?? '')) unsupported.push(name)
      expect([name, failure?.code]).not.toEqual([name, 'internal_error'])
    }
  }
  expect([...new Set(unsupported)]).toEqual(Object.keys(UNSUPPORTED))
})

test('an unknown operation, or sealing, fails with a clear message', async () => {
  const server = createFakeServer()
  const unknown = await server.fetch(`${server.url}/api/user/new/v1`)
  expect([unknown.status, await unknown.json()]).toMatchObject([
    501,
    { code: 'not_supported', message: 'fake server: GET /api/user/new/v1 is not supported' },
  ])
  const sealed = await server.fetch(`${server.url}/api/user/faqs/v1`, {
    headers: { env: 'production' },
  })
  expect((await sealed.json()) as object).toMatchObject({
    message: 'fake server: payload encryption is not supported',
  })
  expect(() => server.fail('readProfil', { code: 'rate_limited' })).toThrow(
    'The fake server has no operation readProfil.',
  )
})

describe('sign-in by e-mail code', () => {
  const request = (server: FakeServer, email = EMAIL) =>
    post(server, '/api/auth/email_code/v1', { email })
  const verify = (server: FakeServer, requestToken: string, code: string | undefined) =>
    post(server, '/api/auth/email_code/v1/verify', { requestToken, code })
  const lastCode = (server: FakeServer) => server.lastCode(EMAIL)

  test('creates the account, and signs in again with a new code', async () => {
    const server = createFakeServer()
    const first = await request(server)
    expect(first.response).toMatchObject({ expiresIn: 600 })
    expect(server.mails).toEqual([{ to: EMAIL, kind: 'email-code', code: lastCode(server) }])
    expect(lastCode(server)).toMatch(/^\d{6}$/)
    const { response } = await verify(server, first.response.requestToken, lastCode(server))
    expect(response.user).toMatchObject({ email: EMAIL, emailVerified: true })
    const used = await verify(server, first.response.requestToken, lastCode(server))
    expect([used.status, used.code]).toEqual([401, 'invalid_credentials'])
    const second = await request(server, 'ANN@example.com')
    const again = await verify(server, second.response.requestToken, lastCode(server))
    expect(again.response.user._id).toBe(response.user._id)
  })

  test('refuses another request’s code, a correct one after five wrong ones, and one that is ten minutes old', async () => {
    const server = createFakeServer()
    const isAccepted = async (token: string, code: string) =>
      (await verify(server, token, code)).status === 200
    const first = await request(server)
    const second = await request(server)
    expect(await isAccepted(first.response.requestToken, lastCode(server))).toBe(false)
    for (let at = 0; at < 5; at++)
      expect(await isAccepted(second.response.requestToken, '000000')).toBe(false)
    expect(await isAccepted(second.response.requestToken, lastCode(server))).toBe(false)
    const third = await request(server)
    server.advance({ minutes: 10 })
    expect(await isAccepted(third.response.requestToken, lastCode(server))).toBe(false)
  })

  test('asks for the second step if two-factor is on', async () => {
    const server = createFakeServer()
    server.addUser({ email: EMAIL, twoFactor: true })
    const { response } = await request(server)
    const result = await verify(server, response.requestToken, lastCode(server))
    expect(result.code).toBe('two_factor_required')
    const { challengeToken } = result.response
    const code = server.twoFactorCode
    expect(await codeOf(clientOf(server).passTwoFactor({ challengeToken, code }))).toBe('ok')
  })
})

describe('scripted faults', () => {
  test('fail as often as scripted, for an operation, a route or everything', async () => {
    const server = createFakeServer()
    const { client } = await signedIn(server)
    server.fail('readProfile', { code: 'rate_limited', times: 2, retryAfter: 30 })
    for (const code of ['rate_limited', 'rate_limited', 'ok'])
      expect(await codeOf(client.readProfile())).toBe(code)
    server.fail('PATCH /api/user/profile/v1', { code: 'forbidden', status: 418 })
    await expect(client.changeProfile({})).rejects.toMatchObject({ code: 'forbidden', status: 418 })
    const undo = server.fail('*', { code: 'internal_error', times: Number.POSITIVE_INFINITY })
    expect(await codeOf(client.readFaqs())).toBe('internal_error')
    undo()
    expect(await codeOf(client.readFaqs())).toBe('ok')
  })

  test('lose replies to requests that took effect', async () => {
    const server = createFakeServer()
    const client = clientOf(server)
    server.fail('register', { code: 'network_error', tookEffect: true })
    expect(await codeOf(client.register(LOGIN))).toBe('network_error')
    expect(await codeOf(client.register(LOGIN))).toBe('email_taken')
  })

  test('give malformed replies, no reply, and late replies', async () => {
    const server = createFakeServer()
    const client = clientOf(server, { timeout: 40 })
    server.fail('readFaqs', { code: 'reply_invalid' })
    expect(await codeOf(client.readFaqs())).toBe('reply_invalid')
    server.fail('readFaqs', { code: 'timeout' })
    expect(await codeOf(client.readFaqs())).toBe('timeout')
    server.fail('readFaqs', { delay: 20 })
    const start = performance.now()
    expect(await codeOf(client.readFaqs())).toBe('ok')
    expect(performance.now() - start).toBeGreaterThan(15)
  })

  test('a read recovers from a lost connection automatically', async () => {
    const server = createFakeServer()
    server.fail('readFaqs', { code: 'network_error' })
    expect(await codeOf(clientOf(server).readFaqs())).toBe('ok')
    expect(server.requests).toHaveLength(2)
  })
})

test('records the requests that the app sends', async () => {
  const server = createFakeServer()
  const { client } = await signedIn(server)
  await client.changeProfile({ profile: { name: 'Ann' } })
  await client.uploadAttachments({
    type: 'supportTicket',
    files: [{ name: 'ä "1".txt', type: 'text/plain', data: new Uint8Array([65]) }],
  })
  const [change, upload] = server.requests.slice(1)
  expect(change).toMatchObject({
    operation: 'changeProfile',
    method: 'PATCH',
    path: '/api/user/profile/v1',
    body: { profile: { name: 'Ann' } },
  })
  expect(change?.headers['authorization']).toMatch(/^Bearer /)
  expect(upload).toMatchObject({
    query: { type: 'supportTicket' },
    files: [{ name: 'ä "1".txt', type: 'text/plain', size: 1 }],
  })
})

test('an upload reports its progress', async () => {
  const { client } = await signedIn(createFakeServer())
  const seen: number[] = []
  const files = [{ name: 'a.txt', data: new TextEncoder().encode('text') }]
  const onProgress = ({ sent, total }: { sent: number; total: number }) => seen.push(sent / total)
  await client.uploadAttachments({ type: 'supportTicket', files, onProgress })
  expect([seen.length, seen.at(-1)]).toEqual([2, 1])
})

test('records the files of an upload, even those on a phone, whose content it cannot see', async () => {
  const server = createFakeServer()
  const { client } = await signedIn(server)
  const upload = async (file: UploadFile) => {
    await client.uploadAttachments({ type: 'publicAsset', files: [file] })
    return server.requests.at(-1)?.files
  }
  const onPhone = { uri: 'file:///photo.jpg', name: 'photo.jpg', type: 'image/jpeg' }
  expect(await upload(onPhone)).toMatchObject([{ type: 'image/jpeg', size: 0 }])
  const data = new DataView(new Uint8Array([116, 101]).buffer) as unknown as Uint8Array
  expect(await upload({ name: 'A%20B.txt', type: 'text/plain', data })).toEqual([
    { name: 'A%20B.txt', type: 'text/plain', size: 2 },
  ])
})

test('the virtual clock stays at the time that the test sets', async () => {
  const server = createFakeServer({ now: '2026-01-31T12:00:00Z' })
  const { client, user } = await signedIn(server)
  server.grantSubscription(user, { entitlement: 'pro', expiresAt: '2026-02-28T12:00:00Z' })
  const isActive = async () => (await client.readSubscription()).entitlements[0]?.active
  expect(await isActive()).toBe(true)
  server.advance({ days: 27, hours: 23, minutes: 59, seconds: 59, ms: 999 })
  expect(await isActive()).toBe(true)
  server.advance({ ms: 1 })
  expect([await isActive(), new Date(server.now()).toISOString()]).toEqual([
    false,
    '2026-02-28T12:00:00.000Z',
  ])
})

test('content can be set at the start and changed later', async () => {
  const server = createFakeServer({
    settings: { hardPaywall: true, features: { newHome: true } },
    faqs: [{ question: 'Why?', answer: 'Because.' }],
    rates: null,
  })
  const client = clientOf(server)
  expect(await client.readAppSettings()).toMatchObject({
    hardPaywall: true,
    underMaintenance: false,
  })
  expect(await client.readFaqs()).toMatchObject([{ question: 'Why?', category: '' }])
  expect((await client.readPricingPlans()).map(({ code }) => code)).toEqual(['free', 'pro'])
  const before = await client.readContentVersions()
  server.changeContent({ faqs: [], rates: { rates: { USD: 1 } } })
  expect((await client.readContentVersions()).faqs).toBe(before.faqs + 1)
  expect((await client.readCurrencyRates()).rates).toEqual({ USD: 1 })
})

test('returns the newest code and link of an address, and reports a missing one', async () => {
  const server = createFakeServer()
  const { client } = await signedIn(server)
  await client.forgotPassword({ email: EMAIL })
  await client.requestEmailCode({ email: 'bob@example.com' })
  expect(server.lastToken('Ann@example.com')).toBe(server.mails.at(-2)?.token ?? '')
  expect(server.lastCode('bob@example.com')).toBe(server.mails.at(-1)?.code ?? '')
  expect(() => server.lastCode(EMAIL)).toThrow(
    'The fake server has sent no e-mail with a code to ann@example.com.',
  )
})

test('servers are independent, and behave the same in every run', async () => {
  const [first, second] = [createFakeServer({ now: 0 }), createFakeServer({ now: 0 })]
  const [ann, bob] = [await signedIn(first), await signedIn(second)]
  expect(ann.user).toEqual(bob.user)
  expect(await codeOf(clientOf(second).login(LOGIN))).toBe('ok')
  expect(() => first.grantSubscription('nobody')).toThrow('The fake server has no user nobody.')
})

test('an error has its status and code in a JSON log', async () => {
  const error = await clientOf(createFakeServer())
    .login(LOGIN)
    .catch((failure: ApiError) => failure)
  expect(JSON.parse(JSON.stringify(error))).toMatchObject({
    name: 'ApiError',
    status: 401,
    code: 'invalid_credentials',
  })
})
