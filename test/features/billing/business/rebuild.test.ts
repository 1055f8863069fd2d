import { expect, test } from 'bun:test'
import fc from 'fast-check'
import { newId } from '../../../../src/lib/ids.ts'
import type { TestApp } from '../../../support/app.ts'
import {
  clearBilling,
  DAY,
  type EventFixture,
  ms,
  purchase,
  receive,
} from '../../../support/billing.ts'
import { count, createFiguresApp, storedSums } from '../../../support/business.ts'
import { cases } from '../../../support/cases.ts'

const USERS = ['ann', 'bob', 'eve']
const TYPES = [
  'INITIAL_PURCHASE',
  'RENEWAL',
  'RENEWAL',
  'CANCELLATION',
  'EXPIRATION',
  'BILLING_ISSUE',
  'REFUND_REVERSED',
  'PRODUCT_CHANGE',
  'NON_RENEWING_PURCHASE',
]
const day = fc.integer({ min: 0, max: 200 })
const subscriptionEvent = fc.record({
  type: fc.constantFrom(...TYPES),
  at: day,
  app_user_id: fc.constantFrom(...USERS),
  environment: fc.constantFrom('PRODUCTION', 'PRODUCTION', 'SANDBOX'),
  store: fc.constantFrom('PLAY_STORE', 'PLAY_STORE', 'APP_STORE'),
  original_transaction_id: fc.constantFrom('1', '2', '3'),
  transaction_id: fc.constantFrom('1', '2', '3', '4', '5'),
  product_id: fc.constantFrom('a', 'b'),
  new_product_id: fc.constantFrom('a', 'b', null),
  entitlement_ids: fc.subarray(['pro', 'gold']),
  period_type: fc.constantFrom('NORMAL', 'NORMAL', 'TRIAL', 'PROMOTIONAL'),
  purchased_day: day,
  expiration_day: fc.option(
    day.map((at) => at + 30),
    { freq: 9 },
  ),
  cancel_reason: fc.constantFrom('UNSUBSCRIBE', 'CUSTOMER_SUPPORT'),
  currency: fc.constantFrom('USD', 'EUR'),
  price_in_purchased_currency: fc.constantFrom(9.99, 4.5, -9.99, 0, null),
  country_code: fc.constantFrom('US', 'DE', null),
})
const transfer = fc.record({
  type: fc.constant('TRANSFER'),
  at: day,
  transferred_from: fc.constantFrom(...USERS).map((id) => [id]),
  transferred_to: fc.constantFrom(...USERS).map((id) => [id]),
})
const alias = fc.record({
  type: fc.constant('SUBSCRIBER_ALIAS'),
  at: day,
  app_user_id: fc.constantFrom(...USERS),
  aliases: fc.subarray(USERS, { minLength: 1, maxLength: 1 }),
})
const events = fc
  .array(
    fc.oneof(
      { weight: 9, arbitrary: subscriptionEvent },
      { weight: 2, arbitrary: transfer },
      { weight: 1, arbitrary: alias },
    ),
    { minLength: 1, maxLength: 14 },
  )
  .map((list) => list.map((event, at): EventFixture => ({ ...event, id: `E-${at}` })))
/** What happens between two events. */
const steps = fc.infiniteStream(fc.constantFrom('count', 'drain', 'replay', 'erase', '', '', ''))

test('counting step by step gives the same figures as a rebuild, whatever happens in between', async () => {
  await using app = await createFiguresApp()
  app.clock.now = new Date(ms(250))
  await fc.assert(
    fc.asyncProperty(events, steps, async (list, random) => {
      await clearBilling(app)
      for (const event of list) {
        await receive(app, event)
        await perform(app, random.next().value, event)
      }
      await app.services.backlog.flush()
      await count(app)
      const counted = await storedSums(app)
      await app.services.rebuildBilling(AbortSignal.timeout(10_000))
      expect(counted).toEqual(await storedSums(app))
    }),
    { numRuns: cases(30, 1_000) },
  )
}, 600_000)

async function perform(app: TestApp, step: string, { id = '', app_user_id: user }: EventFixture) {
  const { services } = app
  if (step === 'count') await count(app)
  if (step === 'drain') await services.backlog.flush()
  if (step === 'replay') await services.eventFolding.replay(id)
  if (step === 'erase' && typeof user === 'string') {
    await services.db.write((tx) => services.erasure.eraseUser(tx, user))
  }
}

test('a rebuild a year later gives the same figures', async () => {
  await using app = await createFiguresApp()
  app.clock.now = new Date(ms(1))
  await receive(app, purchase('ann'))
  await receive(app, purchase('bob', { original_transaction_id: '2', expiration_day: null }))
  await count(app)
  const before = await storedSums(app)
  app.clock.advance(365 * DAY)
  await app.services.rebuildBilling(AbortSignal.timeout(5_000))
  expect(await storedSums(app)).toEqual(before)
})

test('counts events from before the figures existed, in the background', async () => {
  await using app = await createFiguresApp()
  for (let at = 0; at < 120; at++) {
    await receive(app, purchase(`user-${at}`, { original_transaction_id: `P-${at}` }))
  }
  const { counting, figures } = app.services
  app.clock.now = new Date(ms(1))
  const stopping = new AbortController()
  stopping.abort()
  await counting.run(stopping.signal)
  expect((await figures.read({})).progress.counting).toEqual({ counted: 0, total: 0 })
  await count(app)
  const { progress, months } = await figures.read({})
  expect([progress, months.at(-1)?.new]).toEqual([{ counting: null, behindSince: null }, 120])
})

test('counts the other purchases while one has thousands of events', async () => {
  await using app = await createFiguresApp()
  const { db, figures } = app.services
  const { billingEvents } = db.tables
  for (const id of ['1', '2', '3']) {
    await receive(app, purchase(`user-${id}`, { original_transaction_id: id }))
  }
  const [first] = await db.read.select().from(billingEvents).limit(1)
  if (!first) throw new Error('no event')
  for (let batch = 0; batch < 4; batch++) {
    const rows = Array.from({ length: 500 }, () => ({ ...first, id: newId(), eventId: newId() }))
    await db.write(async (tx) => void (await tx.insert(billingEvents).values(rows)))
  }
  app.clock.now = new Date(ms(1))
  await count(app)
  expect((await figures.read({})).months.at(-1)?.new).toBe(3)
})

test('counts an event whose id is older than that of the last counted event', async () => {
  await using app = await createFiguresApp()
  const { db, counting } = app.services
  await receive(app, purchase('ann'))
  await count(app)
  await receive(app, purchase('bob', { original_transaction_id: '2' }))
  const { billingEvents } = db.tables
  const [late] = (await db.read.select().from(billingEvents)).toSorted((a, b) =>
    a.id < b.id ? 1 : -1,
  )
  const hourOld = Number.parseInt(newId().slice(0, 8), 16) - 60
  const id = `${hourOld.toString(16).padStart(8, '0')}${late?.id.slice(8)}`
  await db.write(async (tx) => {
    await tx.delete(billingEvents)
    if (late) await tx.insert(billingEvents).values({ ...late, id })
  })
  await count(app)
  app.clock.now = new Date(ms(1))
  expect((await app.services.figures.read({})).months.at(-1)?.new).toBe(1)
  await counting.recheck(AbortSignal.timeout(5_000))
  expect((await app.services.figures.read({})).months.at(-1)?.new).toBe(2)
})

test('a purchase with an invalid event is left out, and counts once the event is valid', async () => {
  await using app = await createFiguresApp()
  const { db, eventFolding } = app.services
  const { billingEvents } = db.tables
  await receive(app, purchase('ann', { id: 'E' }))
  const [row] = await db.read.select().from(billingEvents)
  await db.write(async (tx) => {
    await tx.update(billingEvents).set({ body: Buffer.from('{') })
  })
  await count(app)
  expect(await storedSums(app)).toEqual([])
  await db.write(async (tx) => {
    await tx.update(billingEvents).set({ body: row?.body ?? Buffer.from('') })
  })
  await eventFolding.replay('E')
  await count(app)
  expect(await storedSums(app)).not.toEqual([])
})
