import { expect, test } from 'bun:test'
import { createConsoleApp } from '../../src/server/app.ts'
import { createTestApp, type TestApp } from '../support/app.ts'
import { type OperatorBrowser, signInOperator } from '../support/operator.ts'

type Role = 'reader' | 'operator' | 'owner'

const SAFE = 'GET'
const ACCESS = /^(anyone|self|reader|operator|owner)$/
const MINUTE = 60_000
const SAME_ORIGIN = { 'sec-fetch-site': 'same-origin', origin: 'http://localhost' }
const FOREIGN_CALLERS: [string, Record<string, string>][] = [
  ['another site', { ...SAME_ORIGIN, 'sec-fetch-site': 'cross-site' }],
  ['another host of the same site', { ...SAME_ORIGIN, 'sec-fetch-site': 'same-site' }],
  ['the address bar', { ...SAME_ORIGIN, 'sec-fetch-site': 'none' }],
  ['a foreign origin in an old browser', { origin: 'http://evil.example', host: 'localhost' }],
  ['another port in an old browser', { origin: 'http://localhost:8080', host: 'localhost' }],
  ['a hidden origin', { origin: 'null', host: 'localhost' }],
  ['a client without either header', { host: 'localhost' }],
]
const OWNER = [
  ...['', '/role', '/reset', '/remove'].map((path) => `POST operators${path}`),
  ...['', '/revoke'].map((path) => `POST api-keys${path}`),
  'GET backups/:name/download',
]
const PEOPLE = ['people', 'people/:id/files', 'people/:id/sessions']
const PERSONAL_LISTS = [...PEOPLE, 'audit', 'events', 'purchases', 'deliveries', 'usage', 'files']
const STEP_UP = [
  'POST me/passkeys/options',
  'POST me/passkeys',
  'POST me/passkeys/:id/remove',
  ...OWNER,
  'GET audit/export',
  ...PERSONAL_LISTS.map((list) => `GET ${list}/export.csv`),
  ...['verify', 'two-factor/reset'].map((path) => `POST people/:id/${path}`),
  'GET people/:id/export',
  'POST people/:id/delete',
  'GET people/:id/files/:key/open',
  'POST people/:id/files/:key/delete',
  ...['', '/:grantId/revoke'].map((path) => `POST people/:id/grants${path}`),
  ...['cancel', 'give', 'take-back'].map((path) => `POST purchases/:id/${path}`),
  'POST keys/rotate',
  ...['add', ':id/change', ':id/rotate', ':id/remove'].map((path) => `POST webhooks/${path}`),
]
const LOGIN = [
  'GET login/state',
  'POST login/cookies',
  'POST login/link',
  'POST login/set-up',
  'POST login/demo',
  'POST login/passkey',
  'POST login/sign-in',
]

/** The names whose noun the console has: a feature may have been left out. */
function ofFeatures(app: TestApp, names: string[]): string[] {
  const nounOf = (name: string) => name.split(/[ /]/)[1]
  const nouns = new Set(routesOf(app).map(({ name }) => nounOf(name)))
  return names.filter((name) => nouns.has(nounOf(name))).toSorted()
}

test('only the listed routes need a proof, need an owner or work without a session', async () => {
  await using app = await createTestApp()
  const all = routesOf(app)
  const namesOf = (list: typeof all) => list.map(({ name }) => name).toSorted()
  expect(all.length).toBeGreaterThan(50)
  expect(namesOf(all.filter(({ tags }) => tags.includes('stepUp')))).toEqual(
    ofFeatures(app, STEP_UP),
  )
  expect(namesOf(all.filter(({ tags }) => tags.includes('owner')))).toEqual(ofFeatures(app, OWNER))
  expect(namesOf(all.filter(({ isLogin }) => isLogin))).toEqual(LOGIN.toSorted())
})

test('each route declares who may call it', async () => {
  await using app = await createTestApp()
  for (const { name, tags } of routesOf(app)) {
    expect([name, tags[0]]).toEqual([name, expect.stringMatching(ACCESS)])
  }
})

test('only login routes answer without a session', async () => {
  await using app = await createTestApp()
  const { accessToken, refreshToken } = await app.register()
  const { cookie } = await signInOperator(app)
  const name = cookie.split('=')[0]
  const callers: Record<string, string>[] = [
    {},
    { authorization: `Bearer ${accessToken}` },
    { authorization: `Bearer ${cookie.split('=')[1]}` },
    ...[accessToken, refreshToken, '', 'x', '%zz', '%00'].map((token) => ({
      cookie: `${name}=${token}`,
    })),
  ]
  for (const headers of callers) {
    const request = { headers: { ...SAME_ORIGIN, ...headers } }
    await checkEach(app, routesOf(app), request, ({ isLogin }, { status, json }) => {
      if (!isLogin) expect([status, json.code]).toEqual([401, 'unauthenticated'])
      else expect(json.code).not.toBe('unauthenticated')
    })
  }
})

test('refuses HEAD requests without a session', async () => {
  await using app = await createTestApp()
  for (const { name, path, method } of routesOf(app)) {
    if (method !== SAFE || name === 'GET login/state') continue
    expect([name, (await app.ask('HEAD', path)).status]).toEqual([name, 401])
  }
})

test.each(FOREIGN_CALLERS)('refuses changes from %s', async (_where, headers) => {
  await using app = await createTestApp()
  const { cookie } = await signInOperator(app)
  const unsafe = routesOf(app).filter(({ isSafe }) => !isSafe)
  await checkEach(app, unsafe, { headers: { cookie, ...headers } }, (_route, { status, json }) => {
    expect([status, json.code]).toEqual([403, 'forbidden'])
    expect(json.message).toBe('This request did not come from the console.')
  })
})

test.each([
  ['its own host', {}, { origin: 'http://localhost', host: 'localhost' }],
  [
    'the public address',
    { BASE_URL: 'https://api.example.com' },
    { origin: 'https://api.example.com' },
  ],
])(
  'accepts changes from a page of %s, even in an old browser',
  async (_name, environment, headers) => {
    await using app = await createTestApp(environment)
    const { cookie } = await signInOperator(app)
    const out = await app.ask('POST', '/console/api/me/sign-out', {
      headers: { cookie: `${cookie}; __Host-${cookie}`, ...headers },
    })
    expect(out.status).toBe(200)
  },
)

test('a reader can view everything and change only their own account', async () => {
  await using app = await createTestApp()
  const reader = await signInOperator(app, { name: 'rob', role: 'reader' })
  await checkEach(
    app,
    repeatable(app),
    headersOf(reader),
    ({ path, tags, isSafe, isLogin, isOwnAccount }, { status, json }) => {
      const isReadable = (isSafe && !tags.includes('stepUp')) || path.includes('/preview/')
      if (isReadable || isLogin || isOwnAccount) return expect(status).not.toBe(403)
      expect([status, json.message]).toEqual([403, 'Readers cannot do this.'])
    },
  )
})

test('an operator can do everything except manage operators', async () => {
  await using app = await createTestApp()
  const operator = await signInOperator(app, { name: 'olga', role: 'operator' })
  await checkEach(app, repeatable(app), headersOf(operator), ({ tags, name }, { status, json }) => {
    if (!tags.includes('owner')) return expect([name, status]).not.toEqual([name, 403])
    expect([status, json.message]).toEqual([403, 'Only owners can do this.'])
  })
})

test.each<Role>(['operator', 'owner'])(
  'asks an %s for a new proof after 10 minutes',
  async (role) => {
    await using app = await createTestApp()
    const browser = await signInOperator(app, { role })
    const isRefused = ({ json }: { json: { details?: { message: string }[] } | null }) =>
      json?.details?.some(({ message }) => message === 'step_up_required') === true
    const findStepUpRoutes = async () => {
      const found: string[] = []
      await checkEach(app, repeatable(app), headersOf(browser), ({ name, tags }, answer) => {
        if (role === 'operator' && tags.includes('owner')) return
        if (isRefused(answer)) found.push(`${answer.status} ${name}`)
      })
      return found.toSorted()
    }
    app.clock.advance(10 * MINUTE - 1_000)
    expect(await findStepUpRoutes()).toEqual([])
    app.clock.advance(MINUTE)
    const expected = role === 'owner' ? STEP_UP : STEP_UP.filter((name) => !OWNER.includes(name))
    const refused = ofFeatures(app, expected).map((name) => `403 ${name}`)
    expect(await findStepUpRoutes()).toEqual(refused.toSorted())
    await browser.ask('POST', 'me/proof', { json: { code: browser.codeNow() } })
    expect(await findStepUpRoutes()).toEqual([])
  },
)

test.each([{ CONSOLE: 'off' }, { CONSOLE_PORT: '4321' }])(
  'has no routes with %j',
  async (environment) => {
    await using shown = await createTestApp()
    await using app = await createTestApp(environment as Record<string, string>)
    const routes = routesOf(shown)
    expect(routes).not.toBeEmpty()
    for (const { method, path } of routes) {
      expect([path, (await app.ask(method, path, { headers: SAME_ORIGIN })).status]).toEqual([
        path,
        404,
      ])
    }
  },
)

test('the public OpenAPI document omits the console', async () => {
  await using app = await createTestApp()
  const { json, text } = await app.ask('GET', '/docs/json')
  expect(Object.keys(json.paths)).not.toBeEmpty()
  expect(text).not.toContain('/console')
})

/** Every console route, with its parameters filled in. */
function routesOf(app: TestApp) {
  const routes = createConsoleApp(app.services).routes as {
    method: string
    path: string
    hooks: Hooks
  }[]
  return routes
    .filter(({ path }) => path.startsWith('/console/api'))
    .map(({ method, path, hooks }) => {
      const route = path.replace('/console/api/', '')
      return {
        method,
        name: `${method} ${route}`,
        path: path.replace(/:\w+/g, 'x'),
        tags: hooks.detail?.tags ?? [],
        isSafe: method === SAFE,
        isLogin: hooks.detail?.tags?.[0] === 'anyone',
        isOwnAccount: hooks.detail?.tags?.[0] === 'self',
      }
    })
}

type Hooks = { detail?: { tags?: string[] } }
type ConsoleRoute = ReturnType<typeof routesOf>[number]
type Reply = Awaited<ReturnType<TestApp['ask']>>
type RequestHeaders = { headers: Record<string, string> }

/** Routes that neither end the session nor stream. */
function repeatable(app: TestApp) {
  return routesOf(app).filter(
    ({ name }) => !['GET live', 'GET session', 'POST me/sign-out'].includes(name),
  )
}

async function checkEach(
  app: TestApp,
  routes: ConsoleRoute[],
  request: RequestHeaders,
  check: (route: ConsoleRoute, reply: Reply) => unknown,
) {
  for (const route of routes) {
    const options = route.isSafe ? request : { ...request, json: {} }
    check(route, await app.ask(route.method, route.path, options))
  }
}

function headersOf({ cookie }: OperatorBrowser): RequestHeaders {
  return { headers: { ...SAME_ORIGIN, cookie } }
}
