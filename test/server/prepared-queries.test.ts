import { afterAll, beforeAll, expect } from 'bun:test'
import { sql } from 'drizzle-orm'
import { SQLiteSyncDialect } from 'drizzle-orm/sqlite-core'
import { serverClient } from '../support/api-keys.ts'
import { createTestApp, PASSWORD, type TestApp } from '../support/app.ts'
import { createWorld, deliver as deliverNotification, submit } from '../support/app-store/world.ts'
import { deliver, lifecycle, purchase } from '../support/billing.ts'
import { onSqlite } from '../support/databases.ts'

const { sqlToQuery } = SQLiteSyncDialect.prototype
const built: string[] = []

beforeAll(() => {
  SQLiteSyncDialect.prototype.sqlToQuery = function (this: SQLiteSyncDialect, ...args) {
    const query = sqlToQuery.apply(this, args)
    built.push(query.sql)
    return query
  }
})
afterAll(() => {
  SQLiteSyncDialect.prototype.sqlToQuery = sqlToQuery
})

/** E-mails are sent after the reply. */
const OF_MAILS = /"outbox" (where|set)|outbox.*limit|"mail_disabled"/

type Ask = (count: number) => Promise<unknown>

/** What a phone, a provider or another server asks, by name. */
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
    'read the data': get('/api/user/data/v1'),
    'replace the data': change('PUT', '/api/user/data/v1', (n) => ({ n })),
    'patch the data': change('PATCH', '/api/user/data/v1', (n) => ({ m: n })),
    'read the subscription': get('/api/user/subscription/v1'),
    'read the usage': get('/api/user/usage/v1'),
    'list the sessions': get('/api/auth/sessions/v1'),
    refresh: async () => {
      const { json } = await app.ask('POST', '/api/auth/refresh/v1', {
        json: { refreshToken: refresh },
      })
      refresh = json.response.refreshToken
    },
    'sign in': () =>
      app.ask('POST', '/api/auth/login/v1', { json: { email: user.email, password: PASSWORD } }),
    'use a limit': (n) =>
      server('POST', 'usage/v1', {
        json: { userId: user._id, limit: 'apiRequestLimit', amount: 1, idempotencyKey: `k${n}` },
      }),
    'introspect a token': () =>
      server('POST', 'tokens/v1/introspect', { json: { token: accessToken } }),
    'read a user': () => server('GET', `users/v1/${user._id}`),
    'replace the server data': (n) => server('PUT', `data/v1/${user._id}`, { json: { n } }),
    'list the attachments': get('/api/user/attachments/v1'),
    'start as a guest': () => app.ask('POST', '/api/auth/guest/v1', {}),
    register: (n) => app.register(`user-${n}@example.com`),
    'receive an event': (n) =>
      deliver(app, lifecycle(user._id, 'UNCANCELLATION', n, { purchased_day: 0 })),
    'receive a late event': (n) =>
      deliver(app, lifecycle(user._id, 'CANCELLATION', -n, { cancel_reason: 'UNKNOWN' })),
  }
}

onSqlite('it counts the texts of its dialect')(
  'requests build no queries after the first few',
  async () => {
    await using app = await createTestApp()
    expect(await countBuilt(await requests(app))).toEqual({})
  },
)

/** The texts that a request still builds, by its name. */
async function countBuilt(asks: Record<string, Ask>) {
  const counts: Record<string, string[]> = {}
  for (const [name, ask] of Object.entries(asks)) {
    for (let count = 1; count <= 3; count++) await ask(count)
    const texts: string[][] = []
    // A job may build a query meanwhile.
    for (let count = 4; count <= 6; count++) {
      built.length = 0
      await ask(count)
      texts.push(built.filter((text) => !OF_MAILS.test(text)))
    }
    if (!texts.some(({ length }) => length === 0)) counts[name] = texts[0] ?? []
  }
  return counts
}

onSqlite('it counts the texts of its dialect')(
  'purchases and notifications of a store build no queries after the first few',
  async () => {
    await using world = await createWorld()
    const { app, store, token, userId } = world
    const asks: Record<string, Ask> = {
      'submit a purchase': () => submit(app, token, [store.buy().signedTransaction()]),
      'receive a notification': () => deliverNotification(app, store.buy({ userId }).notification),
    }
    expect(await countBuilt(asks)).toEqual({})
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
