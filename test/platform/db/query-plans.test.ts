import { Database } from 'bun:sqlite'
import { expect } from 'bun:test'
import { type FilterTexts, readFilter } from '../../../src/features/users/accounts/user-filter.ts'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { deliver, purchase } from '../../support/billing.ts'
import { onSqlite, sqliteClientOf } from '../../support/databases.ts'

/** The tables that grow with users and events. */
const GROWING = [
  ...['users', 'sessions', 'refresh_tokens', 'known_devices', 'identities', 'attachments'],
  ...['billing_events', 'billing_aliases', 'subscriptions', 'line_holders', 'line_checkpoints'],
  ...['transfer_ids', 'user_documents', 'user_changes', 'access_states', 'usage_counters'],
  ...['webhook_messages', 'webhook_deliveries', 'webhook_attempts'],
]

/** Indexes that contain only the rows of their query, which has a limit. */
const PARTIAL = /USING (COVERING )?INDEX users_(not_)?guests$/

/** Every filter of the list of users, alone and together. */
const ALL_FILTERS = {
  status: 'paying',
  plan: 'pro_month',
  guest: 'false',
  platform: 'ios',
  country: 'BR',
  createdFrom: '2026-01-01',
  createdTo: '2099-01-01',
  seenWithin: '9',
  notSeenFor: '1',
}
const FILTERS: FilterTexts[] = [
  ...Object.entries(ALL_FILTERS).map(([name, text]) => ({ [name]: text })),
  { guest: 'true' },
  { status: 'none' },
  ALL_FILTERS,
]

onSqlite('query plans are specific to SQLite')(
  'no statement in normal operation scans a growing table',
  async () => {
    using statements = captureStatements()
    await using app = await createTestApp({ WEBHOOKS_ALLOW_PRIVATE: 'on' })
    await runTypicalWorkload(app)
    const client = sqliteClientOf(app)
    const scans = [...statements.seen].filter((sql) => findScans(client, sql).length > 0)
    expect(scans.filter((sql) => !isLimited(sql))).toEqual([])
  },
  60_000,
)

/** Runs requests, commands and jobs of every kind that read these tables. */
async function runTypicalWorkload(app: TestApp) {
  const { services } = app
  const { users, eventSearch, eventFolding } = services
  const { accessToken: token, refreshToken, user } = await app.register()
  const { accessToken: other, user: recipient } = await app.register()
  await app.ask('POST', '/api/auth/refresh/v1', { json: { refreshToken } })
  await deliver(app, purchase(user._id, { id: 'first' }))
  await deliver(app, { event: { id: 'late', type: 'PAYWALL_CLOSE' } })
  const asked = ['profile', 'subscription', 'attachments', 'data', 'export']
  for (const name of asked) await app.ask('GET', `/api/user/${name}/v1`, { token })
  await app.ask('GET', '/api/auth/sessions/v1', { token })
  const transfer = { transferred_from: [user._id], transferred_to: [recipient._id] }
  await deliver(app, { event: { id: 'transfer', type: 'TRANSFER', ...transfer } })
  await app.ask('GET', '/api/user/export/v1', { token: other })
  await eventSearch.show('first')
  await eventFolding.replay('first')
  await eventSearch.countStored()
  await users.directory.count()
  for (const texts of FILTERS) {
    const filter = readFilter(texts, app.clock.now)
    const page = await services.findUsers('', { filter, limit: 1 })
    if (page.next) await services.findUsers('', { filter, after: page.next })
  }
  for (const work of await loadWorkloads()) await work(app, user._id)
  // A repair after a wrong clock may scan.
  for (const { run, runsAfterSetBack } of services.jobs)
    if (!runsAfterSetBack) await run(AbortSignal.timeout(5_000))
  expect((await app.ask('DELETE', '/api/user/profile/v1', { token })).status).toBe(200)
}

/** The workloads of features, from the `workload.ts` beside their tests. */
async function loadWorkloads(): Promise<((app: TestApp, userId: string) => Promise<void>)[]> {
  const found = new Bun.Glob('../../features/*/workload.ts').scanSync(import.meta.dir)
  const modules = await Promise.all([...found].map((path) => import(path)))
  return modules.map(({ work }) => work)
}

/** Records all statements that are prepared until it is disposed of. */
function captureStatements() {
  const seen = new Set<string>()
  const { prepare } = Database.prototype
  Database.prototype.prepare = function (this: Database, sql: string, ...rest: []) {
    seen.add(sql)
    return prepare.call(this, sql, ...rest)
  } as typeof prepare
  return {
    seen,
    [Symbol.dispose]() {
      Database.prototype.prepare = prepare
    },
  }
}

function findScans(client: Database, sql: string): string[] {
  if (!/^(select|update|delete)/i.test(sql)) return []
  const plan = client.query(`EXPLAIN QUERY PLAN ${sql}`).all() as { detail: string }[]
  return plan
    .map(({ detail }) => detail)
    .filter((detail) => !PARTIAL.test(detail))
    .filter((detail) => GROWING.some((table) => new RegExp(`^SCAN ${table}\\b`).test(detail)))
}

/** Whether the scan stops after one page. */
function isLimited(sql: string): boolean {
  return / limit \?$/.test(sql) && !sql.includes(' where ')
}
