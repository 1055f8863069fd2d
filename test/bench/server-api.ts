import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { http, measure, SECONDS } from './rounds.ts'
import { deliver, runHomeport, startHomeport } from './servers.ts'

const LARGE = { users: 1_000_000, limitsPerUser: 10 }
const SMALL = { users: 1_000, limitsPerUser: 1 }
const PORT = 4861
const LIMIT = 'aiMonthlyCreditLimit'
/** The number of a user: the load generator fills in one of 100,000. */
const idOf = (number: string) => `01a00000-0000-7000-8000-${number}`
const TEMPLATE = idOf('000000000000')

/**
 * Loads the server API: subscriptions by key, and durable uses of a limit, with a million users who have paid and ten
 * million counters, and with a thousand.
 */
export async function benchServerApi(
  folder: string,
  makeData: (dataDir: string) => Promise<unknown>,
) {
  for (const [name, size] of [
    ['large', LARGE],
    ['small', SMALL],
  ] as const) {
    const dataDir = join(folder, `server-api-${name}`)
    await makeData(dataDir)
    await fill(dataDir, size)
    const token = await createKey(dataDir)
    const homeport = await startHomeport(dataDir, PORT)
    try {
      const member = size === LARGE ? idOf('{{member}}') : TEMPLATE
      const read = http('GET', `/api/server/subscriptions/v1/${member}`, token)
      const user = http('GET', `/api/server/users/v1/${member}`, token)
      const use = http('POST', '/api/server/usage/v1', token, useOf(member))
      const about = `${size.users} users, ${size.users * size.limitsPerUser} counters`
      const run = (name: string, request: string, connections: number) =>
        measure(`${name}, ${connections} connections, ${about}`, {
          port: PORT,
          seconds: SECONDS,
          request,
          connections,
        })
      await run('subscription by key', read, 32)
      await run('subscription by key', read, 4)
      await run('user by key', user, 4)
      await run('use of a limit', use, 32)
      await run('use of a limit', use, 4)
    } finally {
      await homeport.stop()
    }
  }
}

function useOf(userId: string): string {
  return JSON.stringify({ userId, limit: LIMIT, amount: 1, idempotencyKey: 'k{{id}}' })
}

async function createKey(dataDir: string): Promise<string> {
  const scopes = 'users:read,subscriptions:read,usage:write'
  const args = ['api-keys', 'create', 'bench', '--scope', scopes, '--json']
  return JSON.parse((await runHomeport(dataDir, args)).stdout).secret
}

/** Copies a user who has bought a plan, with counters in the current month. */
async function fill(dataDir: string, { users, limitsPerUser }: typeof LARGE) {
  await buyAs(dataDir)
  using db = new Database(join(dataDir, 'homeport.db'))
  db.run('PRAGMA synchronous=OFF')
  db.run('PRAGMA cache_size=-400000')
  db.run('PRAGMA foreign_keys=OFF')
  // The limits of the seed are too small for a benchmark.
  db.run(`UPDATE plans SET fields = json_set(fields, '$.${LIMIT}', 1000000000)`)
  const numbers = `WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${users - 1})`
  const id = `substr('${TEMPLATE}', 1, 24) || printf('%012d', n)`
  const copy = (table: string, columns: Record<string, string>) => {
    const names = db.query(`SELECT name FROM pragma_table_info('${table}')`).values().flat()
    const values = names.map((name) => columns[String(name)] ?? `t.${name}`)
    db.run(
      `${numbers} INSERT INTO ${table} (${names}) SELECT ${values} FROM numbers CROSS JOIN (SELECT * FROM ${table} LIMIT 1) t`,
    )
  }
  const renamed = (column: string) => `replace(t.${column}, '${TEMPLATE}', ${id})`
  copy('billing_aliases', { app_user_id: id, customer_id: id })
  copy('subscriptions', {
    line_key: `t.line_key || '-' || n`,
    customer_id: id,
    state: renamed('state'),
  })
  copy('users', { id, email: 'NULL', email_key: 'NULL' })
  const month = Date.UTC(new Date().getUTCFullYear(), new Date().getUTCMonth())
  for (let at = 0; at < limitsPerUser; at++) {
    db.run(
      `INSERT INTO usage_counters SELECT id, 'limit${at}', ${month}, ${month + 31 * 86_400_000}, abs(random() % 1000), NULL FROM users ORDER BY id`,
    )
  }
}

/** A user with the id `TEMPLATE` who has bought a plan from the billing provider. */
async function buyAs(dataDir: string) {
  using db = new Database(join(dataDir, 'homeport.db'))
  db.run('PRAGMA foreign_keys=OFF')
  const columns = db.query(`SELECT name FROM pragma_table_info('users')`).values().flat()
  const values = columns.map((name) =>
    name === 'id' ? `'${TEMPLATE}'` : /email/.test(String(name)) ? 'NULL' : name,
  )
  db.run(`INSERT INTO users SELECT ${values} FROM users LIMIT 1`)
  db.close()
  const server = await startHomeport(dataDir, PORT)
  const now = Date.now()
  const event = {
    id: 'bench-1',
    type: 'INITIAL_PURCHASE',
    event_timestamp_ms: now,
    environment: 'PRODUCTION',
    store: 'APP_STORE',
    app_user_id: TEMPLATE,
    product_id: 'prod_example_pro',
    entitlement_ids: ['pro'],
    period_type: 'NORMAL',
    purchased_at_ms: now,
    expiration_at_ms: now + 30 * 86_400_000,
    transaction_id: '1',
    original_transaction_id: '1',
  }
  await deliver(PORT, event)
  await server.stop()
}
