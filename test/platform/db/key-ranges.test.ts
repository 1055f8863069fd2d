import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { countRows, keyRanges } from '../../../src/platform/db/key-ranges.ts'
import { createTestApp, type TestApp } from '../../support/app.ts'
import { deliver } from '../../support/billing.ts'

const DAY = 24 * 60 * 60 * 1000

test.each([0, 1, 2, 3, 5])(
  'splits %d rows into ranges of two, each row in exactly one',
  async (count) => {
    await using app = await createTestApp()
    const ids: string[] = []
    for (let at = 0; at < count; at++) ids.push((await app.register()).user._id)
    const { read, tables } = app.services.db
    const { users } = tables
    const found: string[][] = []
    for await (const range of keyRanges(read, users, users.id, { rows: 2 })) {
      const rows = await read.select({ id: users.id }).from(users).where(range)
      found.push(rows.map(({ id }) => id))
    }
    expect(found.flat().toSorted()).toEqual(ids.toSorted())
    expect(Math.max(0, ...found.map(({ length }) => length))).toBe(Math.min(count, 2))
    expect(await countRows(read, users, users.id)).toBe(count)
  },
)

test('ranges over a subset contain no other rows', async () => {
  await using app = await createTestApp()
  await deliverTypes(app, ['TEST', 'RENEWAL', 'TEST', 'TEST'])
  const { read, tables } = app.services.db
  const { billingEvents } = tables
  const among = eq(billingEvents.type, 'TEST')
  let found = 0
  for await (const range of keyRanges(read, billingEvents, billingEvents.id, { among, rows: 2 })) {
    found += await read.$count(billingEvents, range)
  }
  expect(found).toBe(3)
})

test('removes the payloads of paywall telemetry after thirty days, and no other payloads', async () => {
  await using app = await createTestApp()
  const start = app.clock.now
  await deliverTypes(app, ['PAYWALL_CLOSE', 'RENEWAL', 'PAYWALL_IMPRESSION'])
  app.clock.now = new Date(start.getTime() + 2 * DAY)
  await deliverTypes(app, ['PAYWALL_CANCEL'])
  app.clock.now = new Date(start.getTime() + 31 * DAY)
  await app.services.clearOldTelemetry(AbortSignal.timeout(5_000))
  const { read, tables } = app.services.db
  const rows = await read.select().from(tables.billingEvents)
  const empty = rows.filter(({ body }) => Buffer.from(body).toString() === '{}')
  expect(empty.map(({ type }) => type).toSorted()).toEqual(['PAYWALL_CLOSE', 'PAYWALL_IMPRESSION'])
})

async function deliverTypes(app: TestApp, types: string[]) {
  for (const type of types) await deliver(app, { event: { id: crypto.randomUUID(), type } })
}
