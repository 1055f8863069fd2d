import { expect, test } from 'bun:test'
import { readEvent } from '../../../../src/features/billing/inbox/event.ts'
import type { FoldingSizes } from '../../../../src/features/billing/projection/checkpoints.ts'
import type { StoredPurchase } from '../../../../src/features/billing/projection/fold-state.ts'
import { foldPurchase } from '../../../../src/features/billing/purchases/fold.ts'
import { createTestApp, type TestApp } from '../../../support/app.ts'
import {
  bodyOf,
  type EventFixture,
  lifecycle,
  ms,
  receive,
  storedPurchases,
} from '../../../support/billing.ts'
import { ANN, BOB, cancellation, initial, renewal } from '../../../support/flows/events.ts'

/** A delivery, or `work`, which finishes the stale work that earlier deliveries left behind. */
type Step = EventFixture | 'work'

const SMALL: FoldingSizes = { checkpointEvery: 2, sliceEvents: 2, maxReplayed: 32 }
/** Ten periods, so that a late event takes several slices. */
const periods = Array.from({ length: 10 }, (_, at) => renewal(at * 30, at * 30 + 30))
/** Changes the start of the purchase in every later state. */
const earlier = initial({ at: -10, purchased_day: -10 })
const uncancelled = (at: number) => lifecycle(ANN, 'UNCANCELLATION', at)
const changed = (at: number) => lifecycle(ANN, 'PRODUCT_CHANGE', at, { new_product_id: 'other' })

test.each<[string, FoldingSizes, Step[]]>([
  [
    'it arrives while the purchase is stale',
    SMALL,
    [...periods, earlier, renewal(300, 330), uncancelled(299)],
  ],
  [
    'it precedes the events that a stale purchase is missing',
    SMALL,
    [...periods, uncancelled(100), earlier],
  ],
  [
    'it follows the events that a stale purchase is missing',
    SMALL,
    [...periods, uncancelled(5), changed(200)],
  ],
  ['it changes nothing after the next checkpoint', SMALL, [...periods, uncancelled(5)]],
  [
    'it has the same time as the last checkpoint',
    { checkpointEvery: 64, sliceEvents: 1, maxReplayed: 32 },
    [
      renewal(30, 60),
      initial(),
      'work',
      cancellation(30, 'CUSTOMER_SUPPORT', { purchased_day: 30, expiration_day: 60 }),
      changed(50),
      uncancelled(40),
    ],
  ],
])('folds a late event when %s', async (_name, foldingSizes, steps) => {
  await using app = await createTestApp({}, { foldingSizes })
  app.clock.now = new Date(ms(400))
  const { backlog, rebuildBilling } = app.services
  await backlog.stop()
  const fixtures = steps
    .filter((step) => step !== 'work')
    .map((fixture, at) => ({ ...fixture, id: `E-${at}` }))
  const queue = [...fixtures]
  for (const step of steps) {
    if (step === 'work') await work(app)
    else await receive(app, queue.shift() as EventFixture)
  }
  await work(app)
  const events = fixtures.map(ordered)
  expect(await storedPurchases(app, ANN)).toEqual([foldPurchase(events) as never])
  expect((await stateOf(app)).stale).toBeUndefined()
  expect((await rebuildBilling(AbortSignal.timeout(5_000))).changed).toEqual([])
})

test('the first store of a purchase decides which transfers apply, in every order', async () => {
  const withoutStore = { store: undefined }
  const events = [
    initial(withoutStore),
    cancellation(5, 'UNSUBSCRIBE', { store: 'STRIPE' }),
    renewal(30, 60, withoutStore),
    cancellation(35, 'UNSUBSCRIBE', { store: 'APP_STORE', purchased_day: 30 }),
  ]
  const transfer = { type: 'TRANSFER', at: 40, transferred_from: [ANN], transferred_to: [BOB] }
  for (const [first, second, third, fourth] of [
    [0, 1, 2, 3],
    [0, 2, 1, 3],
  ] as const) {
    await using app = await createTestApp()
    app.clock.now = new Date(ms(50))
    for (const at of [first, second, third, fourth]) await receive(app, events[at] as EventFixture)
    await receive(app, { ...transfer, store: 'APP_STORE' })
    expect(await findOwner(app)).toBe(ANN)
    await receive(app, { ...transfer, store: 'STRIPE' })
    expect(await findOwner(app)).toBe(BOB)
  }
})

test('owner mentions are the same in every order', async () => {
  const events = [
    initial({ aliases: [BOB] }),
    lifecycle(BOB, 'UNCANCELLATION', 10),
    renewal(30, 60),
  ]
  const states = new Set<string>()
  for (const order of [
    [0, 1, 2],
    [0, 2, 1],
  ]) {
    await using app = await createTestApp()
    app.clock.now = new Date(ms(50))
    for (const at of order) await receive(app, { ...events[at], id: `E-${at}` } as EventFixture)
    states.add(JSON.stringify((await stateOf(app)).tail?.names))
  }
  expect([...states].map((names) => JSON.parse(names).length)).toEqual([3])
})

/** Does all stale work, as the backlog does. */
async function work({ services: { db, projection } }: TestApp) {
  while (await db.write(projection.runSlice));
}

function ordered(fixture: EventFixture) {
  const event = readEvent(bodyOf(fixture), Buffer.from(''))
  if (!event) throw new Error('the fixture has no event')
  return { ...event, orderedAt: ms(fixture.at) }
}

async function rowOf({ services: { db } }: TestApp) {
  const [row] = await db.read.select().from(db.tables.subscriptions)
  return row
}

async function stateOf(app: TestApp) {
  return (await rowOf(app))?.state as StoredPurchase
}

async function findOwner(app: TestApp) {
  return (await rowOf(app))?.customerId
}
