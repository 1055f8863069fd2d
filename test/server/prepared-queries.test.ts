import { expect } from 'bun:test'
import { sql } from 'drizzle-orm'
import { serverClient } from '../support/api-keys.ts'
import { createTestApp, PASSWORD, type TestApp } from '../support/app.ts'
import { deliver, lifecycle, purchase } from '../support/billing.ts'
import { type Ask, countBuilt, type Frequent } from '../support/built-queries.ts'
import { onSqlite } from '../support/databases.ts'

/** The requests from a phone, a provider or another server, by name. */
async function requests(app: TestApp): Promise<Record<string, Ask>> {
  const { user, accessToken, refreshToken } = await app.register()
  const server = await serverClient(app)
  const get = (path: string) => () => app.ask('GET', path, { token: accessToken })
  const change = (method: string, path: string, json: (count: number) => object) => (n: number) =>
    app.ask(method, path, { token: accessToken, json: json(n) })
  let refresh = refreshToken
  await deliver(app, purchase(user._id))
  return {
    'read the settings': get('/api/user/app_settings/v1'),
    'read the plans': get('/api/user/pricing_plans/v1'),
    'read the profile': get('/api/user/profile/v1'),
    'change the profile': change('PATCH', '/api/user/profile/v1', (n) => ({
      profile: { name: `Ann ${n}`, currency: n % 2 ? 'eur' : 'usd' },
    })),
    'read the subscription': get('/api/user/subscription/v1'),
    'list the sessions': get('/api/auth/sessions/v1'),
    refresh: async () => {
      const { json } = await app.ask('POST', '/api/auth/refresh/v1', {
        json: { refreshToken: refresh },
      })
      refresh = json.response.refreshToken
    },
    'sign in': () =>
      app.ask('POST', '/api/auth/login/v1', { json: { email: user.email, password: PASSWORD } }),
    'introspect a token': () =>
      server('POST', 'tokens/v1/introspect', { json: { token: accessToken } }),
    'read a user': () => server('GET', `users/v1/${user._id}`),
    'list the attachments': get('/api/user/attachments/v1'),
    'start as a guest': () => app.ask('POST', '/api/auth/guest/v1', {}),
    ...Object.assign(
      {},
      ...(await loadFrequent()).map((list) => list({ user, get, change, server })),
    ),
    register: (n) => app.register(`user-${n}@example.com`),
    'receive an event': (n) =>
      deliver(app, lifecycle(user._id, 'UNCANCELLATION', n, { purchased_day: 0 })),
    'receive a late event': (n) =>
      deliver(app, lifecycle(user._id, 'CANCELLATION', -n, { cancel_reason: 'UNKNOWN' })),
  }
}

/** The frequent requests of features, from the `frequent.requests.ts` beside their tests. */
async function loadFrequent(): Promise<Frequent[]> {
  const found = new Bun.Glob('../features/*/frequent.requests.ts').scanSync(import.meta.dir)
  const modules = await Promise.all([...found].map((path) => import(path)))
  return modules.map(({ frequent }) => frequent)
}

onSqlite('it counts the texts of its dialect')(
  'requests build no queries after the first few',
  async () => {
    await using app = await createTestApp()
    expect(await countBuilt(await requests(app))).toEqual({})
  },
)

onSqlite('only SQLite prepares again')(
  'a query whose limit is a placeholder is refused',
  async () => {
    await using app = await createTestApp()
    const { users } = app.services.db.tables
    const query = app.services.db.read.select().from(users).limit(sql.placeholder('limit'))
    expect(() => query.prepare()).toThrow('a limit must be a number')
  },
)
