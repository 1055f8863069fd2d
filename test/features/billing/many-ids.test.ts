import { Database } from 'bun:sqlite'
import { expect, test } from 'bun:test'
import { chunk } from '../../../src/lib/concurrency/chunk.ts'
import { readMigrations } from '../../../src/platform/db/migrations.ts'
import { migrate } from '../../../src/platform/db/sqlite/migrate.ts'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { deliver, purchase } from '../../support/billing.ts'
import { onSqlite } from '../../support/databases.ts'

test('joining customers keeps the id of the customer with the most app user ids', async () => {
  await using app = await createTestApp()
  await deliver(app, purchase('zoe', { id: 'bought' }))
  await deliver(app, aliasEvent('j1', 'zoe', ids(100)))
  // `bob` and `ann` sort before every other id, and `bob` is a customer already.
  await deliver(app, purchase('bob', { id: 'another', original_transaction_id: '2' }))
  await deliver(app, aliasEvent('j2', 'bob', ['zoe']))
  await deliver(app, aliasEvent('j3', 'ann', ['zoe']))
  expect(await findCustomers(app)).toEqual(['zoe'])
})

test('transfers follow a customer that is joined with a larger one', async () => {
  await using app = await createTestApp()
  await deliver(app, purchase('bob', { id: 'bought', event_timestamp_ms: 1_783_000_000_000 }))
  const transfer = { transferred_from: ['bob'], transferred_to: ['eve'] }
  const at = { event_timestamp_ms: 1_783_000_001_000 }
  await deliver(app, { event: { id: 't', type: 'TRANSFER', ...transfer, ...at } })
  await deliver(app, aliasEvent('j1', 'zoe', ids(20)))
  await deliver(app, aliasEvent('j2', 'bob', ['zoe']))
  const { db } = app.services
  const rows = await db.read.select().from(db.tables.transferIds)
  const links = rows.map(({ appUserId, customerId, isSource }) => [appUserId, customerId, isSource])
  expect(links.toSorted()).toEqual([
    ['bob', 'id-0', true],
    ['eve', 'eve', false],
  ])
})

onSqlite('the migration exists only for SQLite')(
  'the upgrade adds customers to the transfers of an earlier version',
  () => {
    using client = new Database(':memory:')
    const migrations = readMigrations('sqlite')
    const before = migrations.findIndex(({ tag }) => tag.endsWith('transfer_customers'))
    migrate(client, migrations.slice(0, before))
    client.run("INSERT INTO billing_aliases VALUES ('bob', 'ann'), ('eve', 'eve')")
    client.run("INSERT INTO transfer_ids VALUES ('bob', 'row', 1), ('gone', 'row', 0)")
    migrate(client, migrations)
    const rows = client.query('SELECT app_user_id, customer_id FROM transfer_ids').values()
    expect(rows.toSorted()).toEqual([
      ['bob', 'ann'],
      ['gone', 'gone'],
    ])
  },
)

test('an account with thousands of old telemetry events can be deleted', async () => {
  await using app = await createTestApp()
  const { user } = await app.register()
  const { db } = app.services
  const { billingEvents } = db.tables
  const event = { type: 'PAYWALL_CLOSE', app_user_id: user._id }
  await deliver(app, { event: { id: 'first', ...event } })
  const [first] = await db.read.select().from(billingEvents)
  if (!first) throw new Error('the event is not stored')
  const rows = ids(1_600).map((id) => ({ ...first, id, eventId: id, body: Buffer.from('{}') }))
  await db.write(async (tx) => {
    for (const batch of chunk(rows, 400)) await tx.insert(billingEvents).values(batch)
  })
  await app.services.deleteAccount(user._id)
  const stored = await db.read.select().from(billingEvents)
  expect(stored).toHaveLength(1_601)
  expect(new Set(stored.map(({ appUserId }) => appUserId?.slice(0, 8)))).toEqual(
    new Set(['deleted:']),
  )
  expect(JSON.stringify(stored)).not.toContain(user._id)
})

function ids(count: number): string[] {
  return Array.from({ length: count }, (_, at) => `id-${at}`)
}

function aliasEvent(id: string, appUserId: string, aliases: string[]) {
  return { event: { id, type: 'SUBSCRIBER_ALIAS', app_user_id: appUserId, aliases } }
}

async function findCustomers({ services: { db } }: TestApp): Promise<string[]> {
  const rows = await db.read.select().from(db.tables.billingAliases)
  return [...new Set(rows.map(({ customerId }) => customerId))]
}
