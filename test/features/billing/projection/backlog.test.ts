import { expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../../../support/app.ts'
import { deliver, ms, purchase } from '../../../support/billing.ts'
import { openInstances } from '../../../support/shared-database.ts'

const PURCHASES = 100

test('a stopping process finishes its slice of stale work, and leaves the rest to another process', async () => {
  await using app = await createTestApp()
  const [here, there] = await openInstances(app)
  await makeStale(app)
  here.backlog.wake()
  await here.backlog.stop()
  expect(await countStale(app)).toBeLessThan(PURCHASES)
  await there.backlog.flush()
  expect(await countStale(app)).toBe(0)
  expect((await there.rebuildBilling(AbortSignal.timeout(20_000))).changed).toEqual([])
})

test('two instances share the stale work', async () => {
  await using app = await createTestApp()
  const instances = await openInstances(app)
  await makeStale(app)
  await Promise.all(instances.map(({ backlog }) => backlog.flush()))
  expect(await countStale(app)).toBe(0)
  expect((await app.services.rebuildBilling(AbortSignal.timeout(20_000))).changed).toEqual([])
})

/** Marks every purchase to be folded again from its first event. */
async function makeStale(app: TestApp) {
  app.clock.now = new Date(ms(1))
  for (let at = 0; at < PURCHASES; at++) {
    const transaction = { original_transaction_id: `t${at}`, transaction_id: `t${at}` }
    await deliver(app, purchase(`user${at}`, { ...transaction, id: `e${at}` }))
  }
  const { db } = app.services
  const { subscriptions, stalePurchases } = db.tables
  const { purchaseKey } = subscriptions
  const keys = await db.read.select({ purchaseKey }).from(subscriptions)
  expect(keys).toHaveLength(PURCHASES)
  const all = { since: 0, until: Number.MAX_SAFE_INTEGER }
  await db.write(async (tx) => {
    await tx.insert(stalePurchases).values(keys.map((key) => ({ ...key, ...all })))
  })
}

function countStale({ services: { db } }: TestApp) {
  return db.read.$count(db.tables.stalePurchases)
}
