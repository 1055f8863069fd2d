import { Database } from 'bun:sqlite'
import { createHash } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Load } from './load.ts'
import type { PocketBase } from './pocketbase.ts'
import { compare, http, measure, SECONDS } from './rounds.ts'
import { deliver, runHomeport, startBare, startHomeport, WEBHOOK_TOKEN } from './servers.ts'

const EVENTS = 1_000_000
const CUSTOMERS = 100_000
const PERIOD = 30 * 24 * 60 * 60 * 1000
const START = Date.UTC(2026, 0, 1)
const PERIODS = EVENTS / CUSTOMERS
const TRANSFERS = 1_000
const TRANSFER_INTERVAL = 60_000
const WEBHOOK_PATH = '/api/webhooks/billing/v1'
/** A time between the last two events of every purchase in the log. */
const BEFORE_LAST_EVENTS = START + (PERIODS - 1.5) * PERIOD

/** The cost of applying events to a log with a million events from a hundred thousand customers. */
export async function benchBilling(dataDir: string, token: string, pocketBase: PocketBase | null) {
  const { sub } = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())
  writeLog(join(dataDir, 'homeport.db'), sub)
  const { stdout, peak } = await runHomeport(dataDir, ['events', 'rebuild', '--json'])
  const { events, lines, seconds } = JSON.parse(stdout)
  const rate = Math.round(events / seconds)
  console.log(
    `events rebuild: ${events} events, ${lines} purchases, ${rate}/s, peak ${peak} MB resident`,
  )

  const homeport = await startHomeport(dataDir, 4805)
  const load = { port: 4805, connections: 32, seconds: SECONDS }
  const latest = { ...load, request: webhook('RENEWAL') }
  const late = { ...latest, age: Date.now() - BEFORE_LAST_EVENTS }
  const storedOnly = { ...load, request: webhook('TEST') }
  await compare('webhook, event applied, against stored only', 0.75, latest, storedOnly)
  await compare("late event, against a purchase's latest event", 0.6, late, latest)
  if (pocketBase) {
    await compare("webhook, event applied, against PocketBase's create", 3, latest, {
      ...load,
      port: pocketBase.port,
      request: pocketBase.createEvent(body('RENEWAL')),
    })
  }
  await benchTransfers(load)
  await homeport.stop()

  // Both read the same log; neither writes.
  const restarted = await startHomeport(dataDir, 4805)
  const bare = await startBare(dataDir, 4806)
  const request = http('GET', '/api/user/subscription/v1', token)
  await compare('subscription GET', 0.5, { ...load, request }, { ...load, port: 4806, request })
  await restarted.stop()
  await bare.stop()
  await rm(dataDir, { recursive: true, force: true })
}

/** Late events of a purchase that has moved between two customers a thousand times. */
async function benchTransfers(load: Omit<Load, 'request'>) {
  const event = { ...eventOf('ann', 'moved', 0), id: 'moved' }
  await deliver(load.port, event)
  for (let at = 1; at <= TRANSFERS; at++) {
    const [from, to] = at % 2 === 1 ? ['ann', 'bob'] : ['bob', 'ann']
    await deliver(load.port, {
      type: 'TRANSFER',
      id: `moved-${at}`,
      event_timestamp_ms: START + at * TRANSFER_INTERVAL,
      transferred_from: [from],
      transferred_to: [to],
    })
  }
  const late = { ...event, id: 'LATE-{{id}}', type: 'RENEWAL' }
  const request = http('POST', WEBHOOK_PATH, WEBHOOK_TOKEN, timed(late))
  const age = Date.now() - START - (TRANSFERS / 2) * TRANSFER_INTERVAL
  for (const connections of [1, 32]) {
    const name = `late event of a customer with ${TRANSFERS} transfers, ${connections} connections`
    await measure(name, { ...load, connections, request, age })
  }
}

export function writeLog(path: string, userId: string) {
  const db = new Database(path)
  db.run('PRAGMA synchronous = OFF')
  const insert = db.query(`INSERT INTO billing_events
    (id, provider, event_id, type, event_at, received_at, ordered_at, line_key, body, body_hash, environment,
     app_user_id, outcome, duplicates, conflicting, clock_is_off)
    VALUES (?, 'revenuecat', ?, ?, ?, ?, ?, ?, ?, ?, 'PRODUCTION', ?, 'applied', 0, 0, 0)`)
  const write = db.transaction((from: number, to: number) => {
    for (let at = from; at < to; at++) {
      const customer = at % CUSTOMERS
      const number = String(customer).padStart(12, '0')
      const user = customer === 0 ? userId : `user-${number}`
      const period = Math.floor(at / CUSTOMERS)
      const event = eventOf(user, number, period)
      const body = Buffer.from(
        JSON.stringify({ api_version: '1.0', event: { ...event, id: `L-${at}` } }),
      )
      const hash = createHash('sha256').update(body).digest('hex')
      const time = event.event_timestamp_ms
      const row = String(at).padStart(12, '0')
      insert.run(
        row,
        `L-${at}`,
        event.type,
        time,
        time,
        time,
        `PRODUCTION|${number}`,
        body,
        hash,
        user,
      )
    }
  })
  for (let at = 0; at < EVENTS; at += 20_000) write(at, at + 20_000)
  db.run('PRAGMA wal_checkpoint(TRUNCATE)')
  db.close()
}

export function eventOf(user: string, transaction: string, period: number) {
  const purchasedAt = START + period * PERIOD
  return {
    type: period === 0 ? 'INITIAL_PURCHASE' : 'RENEWAL',
    event_timestamp_ms: purchasedAt,
    app_user_id: user,
    original_app_user_id: user,
    aliases: [user],
    product_id: 'prod_example_pro',
    price_id: 'price_example_pro_month',
    period_type: 'NORMAL',
    purchased_at_ms: purchasedAt,
    expiration_at_ms: purchasedAt + PERIOD * 3,
    environment: 'PRODUCTION',
    entitlement_ids: ['pro'],
    transaction_id: transaction,
    original_transaction_id: transaction,
    store: 'STRIPE',
    price: 9.99,
    currency: 'USD',
  }
}

/** New events of existing customers and purchases; a TEST is stored but not applied. */
function webhook(type: string): string {
  return http('POST', WEBHOOK_PATH, WEBHOOK_TOKEN, body(type))
}

function body(type: string): string {
  return timed({ ...eventOf('user-{{member}}', '{{member}}', PERIODS), id: 'EVENT-{{id}}', type })
}

/** The body of an event, to which the generator adds its time. */
function timed(fields: object): string {
  const event = { ...fields, event_timestamp_ms: '{{time}}', purchased_at_ms: '{{time}}' }
  return JSON.stringify({ api_version: '1.0', event }).replaceAll('"{{time}}"', '{{time}}')
}
