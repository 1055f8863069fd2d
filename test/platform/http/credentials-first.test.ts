import { afterAll, beforeAll, expect, test } from 'bun:test'
import { createKey } from '../../support/api-keys.ts'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { rawRequest } from '../../support/raw-request.ts'
import { routeEnvironment } from '../../support/routes.ts'
import { serveApp } from '../../support/served.ts'

type Operation = { security?: object[]; requestBody?: object; operationId: string }

let app: TestApp
let server: ReturnType<typeof serveApp>

beforeAll(async () => {
  app = await createTestApp(routeEnvironment)
  server = serveApp(app)
})

afterAll(async () => {
  await server[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
})

/** The routes with a body that refuse requests without credentials. */
async function listGuardedRoutes(): Promise<string[]> {
  const found = []
  for (const document of ['/docs/json', '/docs/server/json']) {
    const { paths } = (await app.ask('GET', document)).json
    for (const [path, item] of Object.entries<Record<string, Operation>>(paths)) {
      for (const [method, { security = [], requestBody }] of Object.entries(item)) {
        const isOptional = security.some((scheme) => Object.keys(scheme).length === 0)
        if (requestBody && security.length > 0 && !isOptional)
          found.push(`${method.toUpperCase()} ${path.replace(/\{\w+\}/g, 'x')}`)
      }
    }
  }
  return found
}

/** The status of a request of which only the head and the beginning of the body arrive. */
async function readStatus(route: string, token: string | null, body = '{"a":') {
  const authorization = token === null ? '' : `Authorization: Bearer ${token}\r\n`
  const headers = `Host: a\r\n${authorization}Content-Type: application/json\r\n`
  const head = `${route} HTTP/1.1\r\n${headers}Content-Length: 200000\r\n\r\n${body}`
  const reply = await rawRequest(Number(new URL(server.url).port), head)
  return Number(reply.split(' ')[1])
}

test('every route refuses a request without valid credentials before its body arrives', async () => {
  const routes = await listGuardedRoutes()
  expect(routes).toContain('PATCH /api/user/profile/v1')
  expect(routes).toContain('POST /api/server/users/v1')
  expect(routes.length).toBeGreaterThan(15)
  for (const route of routes) {
    const statuses = [await readStatus(route, null), await readStatus(route, 'x')]
    expect({ route, statuses }).toEqual({ route, statuses: [401, 401] })
  }
})

test('a key without the scope is refused before the body arrives', async () => {
  const { secret } = await createKey(app, { scopes: ['users:read'] })
  expect(await readStatus('POST /api/server/users/v1', secret)).toBe(403)
})

test('credentials are checked once per request', async () => {
  const { secret } = await createKey(app, { requestsPerMinute: 2 })
  const create = () =>
    app.ask('POST', '/api/server/users/v1', {
      token: secret,
      json: { email: `${crypto.randomUUID()}@example.com` },
    })
  const statuses = [(await create()).status, (await create()).status, (await create()).status]
  expect(statuses).toEqual([200, 200, 429])
})
