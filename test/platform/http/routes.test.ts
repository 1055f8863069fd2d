import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { type Answer, createTestApp, type Mode, WEBHOOK_TOKEN } from '../../support/app.ts'
import { expectFailure } from '../../support/failure.ts'
import { fault } from '../../support/fault.ts'
import { startIdentityProvider } from '../../support/identity-provider.ts'
import type { RouteCase } from '../../support/route-case.ts'
import { routeEnvironment, routes } from '../../support/routes.ts'

type Documented = { requestBody?: object; parameters?: { in: string }[] }

describe.each<Mode>(['plain', 'sealed'])('routes in %s mode', (mode) => {
  let shared: Shared
  beforeAll(async () => {
    shared = await createShared(mode)
  })
  afterAll(async () => {
    await shared.app[Symbol.asyncDispose]()
    shared.identityProvider[Symbol.dispose]()
  })

  test('all have a test case', async () => {
    const documented = shared.documented as Record<string, object>
    const inDocument = Object.entries(documented).flatMap(([path, item]) =>
      Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
    )
    const tested = routes.map(({ method, path }) => `${method} ${path.split('?')[0]}`)
    const elsewhere = ['GET /files/{key}', 'GET /.well-known/jwks.json', 'GET /api/user/changes/v1']
    expect(inDocument.toSorted()).toEqual([...tested, ...elsewhere].toSorted())
    const takesInput = ({ method, path }: (typeof routes)[number]) => {
      const item = documented[path.split('?')[0] ?? ''] as Record<string, Documented>
      const { requestBody, parameters = [] } = item[method.toLowerCase()] ?? {}
      return requestBody !== undefined || parameters.some((one) => one.in === 'query')
    }
    const unchecked = routes.filter((route) => takesInput(route) && route.bad === undefined)
    expect(unchecked.map(({ method, path }) => `${method} ${path}`)).toEqual([])
  })

  test.each(routes.map((route) => [`${route.method} ${route.path}`, route] as const))(
    '%s: accepts a valid request, and only from its owner',
    async (_name, route) => {
      const { app, other } = shared
      const { path, good, user } = await prepare(shared, route)
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
      const { headers } =
        shared.documented[route.path.split('?')[0] ?? ''][route.method.toLowerCase()].responses[200]
      const isLocalized = answer.headers.get('content-language') !== null
      expect('Content-Language' in headers).toBe(isLocalized)
    },
  )

  test.each(
    routes.flatMap((route) =>
      route.bad ? [[`${route.method} ${route.path}`, route] as const] : [],
    ),
  )('%s: refuses an invalid request', async (_name, route) => {
    const { status, path = route.path, ...bad } = route.bad as NonNullable<RouteCase['bad']>
    const answer = await shared.app.ask(route.method, path, {
      ...tokenFor(route, shared.user),
      ...bad,
    })
    expectFailure(answer, status)
  })

  test.each(
    routes.flatMap((route) =>
      route.oversize ? [[`${route.method} ${route.path}`, route] as const] : [],
    ),
  )(`%s: refuses an oversize request ${fault(40)}`, async (_name, route) => {
    const token = tokenFor(route, shared.user)
    const { app } = shared
    const answer = await app.ask(route.method, route.path, { ...token, ...route.oversize })
    expectFailure(answer, 413)
    // Without a Content-Length the bytes are counted as they arrive.
    const { json, ...others } = route.oversize ?? {}
    if (json === undefined) return
    const body = JSON.stringify(json)
    const streamed = await app.ask(route.method, route.path, {
      ...token,
      ...others,
      body: new Blob([body]).stream(),
      headers: { 'content-type': 'application/json' },
    })
    expectFailure(streamed, 413)
  })
})

/** One application for all requests; each valid request has its own user. */
async function createShared(mode: Mode) {
  const identityProvider = await startIdentityProvider()
  const { providers } = identityProvider
  const app = await createTestApp({ ...routeEnvironment, RATE_LIMITS: 'off' }, { providers, mode })
  const user = await app.register('user@example.com')
  const other = await app.register('other@example.com')
  const documented = (await app.ask('GET', '/docs/json')).json.paths
  return { app, identityProvider, user, other, documented }
}

type Shared = Awaited<ReturnType<typeof createShared>>

/** The valid request of a route, with its own user. */
async function prepare({ app, identityProvider }: Shared, route: RouteCase) {
  const user = await app.register()
  const prepared = await route.prepare?.({ app, user, identityProvider })
  const { path = route.path, ...good } = { ...route.good, ...prepared }
  return { user, path, good: { ...tokenFor(route, user), ...good } }
}

function tokenFor({ access }: RouteCase, user: { accessToken: string }): { token?: string } {
  return { public: {}, user: { token: user.accessToken }, webhook: { token: WEBHOOK_TOKEN } }[
    access
  ]
}

function expectEnvelope({ json }: Answer) {
  expect(Object.keys(json).toSorted()).toEqual(
    'response' in json ? ['code', 'response'] : ['code', 'message'],
  )
}
