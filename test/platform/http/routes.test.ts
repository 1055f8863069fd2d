import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { TOTP } from 'totp-generator'
import {
  type Answer,
  type Ask,
  createTestApp,
  type Mode,
  PASSWORD,
  type TestApp,
  WEBHOOK_TOKEN,
} from '../../support/app.ts'
import { expectFailure } from '../../support/failure.ts'
import { startIdentityProvider } from '../../support/identity-provider.ts'
import { ATTACHMENTS, type Route, routes, text } from '../../support/routes.ts'

describe.each<Mode>(['plain', 'sealed'])('every route answers, %s,', (mode) => {
  let shared: Awaited<ReturnType<typeof createShared>>
  beforeAll(async () => {
    shared = await createShared(mode)
  })
  afterAll(() => shared.app[Symbol.asyncDispose]())

  test('are all in this grid', async () => {
    await using app = await createTestApp({}, { mode })
    const documented = (await app.ask('GET', '/docs/json')).json.paths as Record<string, object>
    const inDocument = Object.entries(documented).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    )
    const inGrid = routes.map(({ method, path }) => `${method} ${path.split('?')[0]}`)
    const elsewhere = ['GET /files/{key}', 'GET /.well-known/jwks.json']
    expect(inDocument.toSorted()).toEqual([...inGrid, ...elsewhere].toSorted())
  })

  test.each(routes.map((route) => [`${route.method} ${route.path}`, route] as const))(
    '%s: the good request, and only to whom it belongs',
    async (_name, route) => {
      using world = await startIdentityProvider()
      await using app = await createTestApp({}, { ...world, mode })
      const { path, good, user, other } = await prepare(app, route, world)
      if (route.access !== 'public') {
        for (const token of [undefined, 'x', user.refreshToken]) {
          const { token: _own, ...rest } = good
          const stranger = await app.ask(route.method, path, {
            ...rest,
            ...(token === undefined ? {} : { token }),
          })
          expectFailure(stranger, 401)
        }
      }
      if (/[?&](key|id)=/.test(path)) {
        const foreign = await app.ask(route.method, path, { ...good, token: other.accessToken })
        expectFailure(foreign, 404)
      }
      const answer = await app.ask(route.method, path, good)
      expect(answer.status).toBe(200)
      expectEnvelope(answer)
    },
  )

  test.each(
    routes.flatMap((route) =>
      route.bad ? [[`${route.method} ${route.path}`, route] as const] : [],
    ),
  )('%s: a bad request', async (_name, route) => {
    const { status, path = route.path, ...bad } = route.bad as NonNullable<Route['bad']>
    const answer = await shared.app.ask(route.method, path, { ...shared.tokenFor(route), ...bad })
    expectFailure(answer, status)
  })

  test.each(
    routes.flatMap((route) =>
      route.oversize ? [[`${route.method} ${route.path}`, route] as const] : [],
    ),
  )('40: %s: an oversize request', async (_name, route) => {
    const token = shared.tokenFor(route)
    const { app } = shared
    const answer = await app.ask(route.method, route.path, { ...token, ...route.oversize })
    expectFailure(answer, 413)
    // Without a Content-Length the bytes are counted as they arrive.
    const body = route.oversize?.json === undefined ? null : JSON.stringify(route.oversize.json)
    if (body === null) return
    const streamed = await app.ask(route.method, route.path, {
      ...token,
      body: new Blob([body]).stream(),
      headers: { 'content-type': 'application/json' },
    })
    expectFailure(streamed, 413)
  })
})

/** One application for all refused requests, because they change nothing. */
async function createShared(mode: Mode) {
  const app = await createTestApp({}, { mode })
  const { accessToken } = await app.register('user@example.com')
  await app.register('other@example.com')
  const tokens = { public: {}, user: { token: accessToken }, webhook: { token: WEBHOOK_TOKEN } }
  return { app, tokenFor: ({ access }: Route): { token?: string } => tokens[access] }
}

type World = Awaited<ReturnType<typeof startIdentityProvider>>

/** Two users, and the valid request of the first one with its placeholders filled in. */
async function prepare(app: TestApp, route: Route, world: World) {
  const user = await app.register('user@example.com')
  // Guests need no password hash.
  const other = (await app.ask('POST', '/api/auth/guest/v1')).json.response as typeof user
  const token = route.access === 'webhook' ? WEBHOOK_TOKEN : user.accessToken
  const good: Ask = route.access === 'public' ? { ...route.good } : { ...route.good, token }
  if (route.path.includes('refresh')) good.json = { refreshToken: user.refreshToken }
  let { path } = route
  const filled = JSON.stringify(good.json ?? null)
  const fill = async (name: string, make: () => Promise<string>) => {
    if (filled.includes(name))
      good.json = JSON.parse(JSON.stringify(good.json).replace(name, await make()))
    if (path.includes(name)) path = path.replace(name, await make())
  }
  const { db, users } = app.services
  const issue = (purpose: Parameters<typeof users.oneTimeTokens.issue>[1]) =>
    db.write((tx) => users.oneTimeTokens.issue(tx, purpose, user.user._id, user.user.email))
  await fill('KEY', async () => {
    const stored = await app.ask('POST', `${ATTACHMENTS}?type=supportTicket`, {
      token,
      body: 'text',
      headers: text,
    })
    return stored.json.response[0].key
  })
  await fill('SESSION', async () => {
    const json = { email: 'user@example.com', password: PASSWORD }
    await app.ask('POST', '/api/auth/login/v1', { json })
    const { response } = (await app.ask('GET', '/api/auth/sessions/v1', { token })).json
    return response.find(({ current }: { current: boolean }) => !current)._id
  })
  await fill('RESET', () => issue('reset-password'))
  await fill('CANCEL', () => issue('cancel-email-change'))
  await fill('PROVIDER', async () => {
    const row = { provider: 'google', subject: 's', userId: user.user._id, createdAt: new Date() }
    await db.write(async (tx) => void (await tx.insert(db.tables.identities).values(row)))
    return 'google'
  })
  await fill('VERIFY', () => issue('verify-email'))
  await fill('ID_TOKEN', () => world.mint('google', { sub: 'g-1' }))
  await fill('CODE', () => setUpTwoFactor(app, user, !path.endsWith('confirm')))
  // Enabling two-factor invalidates earlier sign-ins.
  await fill('CHALLENGE', () => issue('two-factor'))
  return { path, good, user, other }
}

/** Sets up two-factor authentication, enables it if `confirm`, and returns a currently valid code. */
async function setUpTwoFactor(app: TestApp, user: { accessToken: string }, confirm: boolean) {
  const token = user.accessToken
  const path = '/api/auth/two_factor/v1'
  const { secret } = (await app.ask('POST', path, { token, json: { password: PASSWORD } })).json
    .response
  const code = async () => (await TOTP.generate(secret, { timestamp: app.clock.now.getTime() })).otp
  if (!confirm) return code()
  await app.ask('POST', `${path}/confirm`, { token, json: { code: await code() } })
  app.clock.advance(30_000)
  return code()
}

function expectEnvelope({ json }: Answer) {
  expect(Object.keys(json).toSorted()).toEqual(
    'response' in json ? ['code', 'response'] : ['code', 'message'],
  )
}
