import { expect, test } from 'bun:test'
import { eq } from 'drizzle-orm'
import { createTestApp, type TestApp } from '../../../support/app.ts'
import { type EventFixture, lifecycle, ms, receive } from '../../../support/billing.ts'
import { ANN, BOB, initial, renewal } from '../../../support/flows/events.ts'
import { until } from '../../../support/until.ts'

const transfer = (at: number, from: string, to: string): EventFixture => {
  return { type: 'TRANSFER', at, transferred_from: [from], transferred_to: [to] }
}
const USER_ID = '01a1fecb-4162-75f8-b13e-d84fd1f88be2'
/** An event that does not mention the owner. */
const withoutOwner = (at: number) =>
  lifecycle(ANN, 'UNCANCELLATION', at, { app_user_id: undefined })

test.each<[string, EventFixture[], string]>([
  ['a transfer moves it', [initial(), transfer(10, ANN, BOB)], BOB],
  [
    'a transfer to an anonymous id and a user id of the same customer moves it to the user',
    [
      initial(),
      {
        type: 'TRANSFER',
        at: 10,
        transferred_from: [ANN],
        transferred_to: ['$RCAnonymousID:0123', BOB],
      },
    ],
    BOB,
  ],
  [
    'a transfer to an id of an earlier backend and a user id moves it to the user',
    [
      initial(),
      {
        type: 'TRANSFER',
        at: 10,
        transferred_from: [ANN],
        transferred_to: ['legacy-123', USER_ID],
      },
    ],
    USER_ID,
  ],
  [
    'an event with the old id after a transfer moves it back',
    [initial(), transfer(10, ANN, BOB), renewal(30, 60)],
    ANN,
  ],
  [
    'an event without an id does not hide a later event with one',
    [
      initial(),
      transfer(10, ANN, BOB),
      withoutOwner(20),
      ...[30, 31, 32, 33].map((at) => renewal(at, 60)),
    ],
    ANN,
  ],
  [
    'merging two customers applies the transfers of both',
    [
      initial({ aliases: ['a', 'b'] }),
      transfer(10, 'other', BOB),
      { type: 'SUBSCRIBER_ALIAS', at: 20, app_user_id: 'other', aliases: [ANN] },
    ],
    BOB,
  ],
])('the owner of a purchase: %s', async (_name, events, owner) => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(50))
  for (const event of events) await receive(app, event)
  await app.services.backlog.flush()
  expect(await customerIds(app)).toEqual([owner])
  expect((await app.services.rebuildBilling(AbortSignal.timeout(5_000))).changed).toEqual([])
})

test('a rebuild reports and repairs a wrong owner', async () => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(1))
  await receive(app, initial())
  const { db, rebuildBilling } = app.services
  const { subscriptions } = db.tables
  await db.write(
    async (tx) =>
      void (await tx
        .update(subscriptions)
        .set({ customerId: BOB })
        .where(eq(subscriptions.customerId, ANN))),
  )
  expect((await rebuildBilling(AbortSignal.timeout(5_000))).changed).toEqual(['PRODUCTION|1000'])
  expect(await customerIds(app)).toEqual([ANN])
})

test('refreshes stale purchases after the response', async () => {
  const foldingSizes = { checkpointEvery: 2, sliceEvents: 2, maxReplayed: 32 }
  await using app = await createTestApp({}, { foldingSizes })
  app.clock.now = new Date(ms(400))
  for (let at = 0; at < 300; at += 30) await receive(app, renewal(at, at + 30))
  await receive(app, initial({ at: -10, purchased_day: -10 }))
  const { db } = app.services
  const areFresh = async () => (await db.read.$count(db.tables.stalePurchases)) === 0
  await until(areFresh, 'purchases stay stale')
})

async function customerIds({ services: { db } }: TestApp) {
  const rows = await db.read.select().from(db.tables.subscriptions)
  return rows.map(({ customerId }) => customerId)
}
