import { expect, test } from 'bun:test'
import { createTestApp, type TestApp } from '../../../support/app.ts'
import { bodyOf, deliver, iso, lifecycle, ms, receive } from '../../../support/billing.ts'
import {
  ANN,
  BOB,
  cancellation,
  expiration,
  initial,
  play,
  renewal,
} from '../../../support/flows/events.ts'
import { signInOperator } from '../../../support/operator.ts'
import { playEvents } from '../../../support/play-events.ts'

test('shows the changes that each event made, newest first', async () => {
  await using app = await createTestApp()
  const events = [
    initial({ id: 'bought' }),
    renewal(30, 60, { id: 'renewed', price: 8.99 }),
    cancellation(40, 'UNSUBSCRIBE', { id: 'cancelled', purchased_day: 30, expiration_day: 60 }),
    lifecycle(ANN, 'UNCANCELLATION', 41, { id: 'uncancelled' }),
    expiration(60, 'UNSUBSCRIBE', { id: 'ended', purchased_day: 30 }),
  ]
  await playEvents(app, events, 61)
  const [purchase] = (await read(app)).lines
  expect(purchase).toMatchObject({
    transactionId: '1000',
    productId: 'prod_example_pro',
    store: 'APP_STORE',
    status: 'expired',
    active: false,
    source: 'provider',
    isClaimed: false,
    willRenew: false,
    startedAt: iso(0),
    endsAt: iso(60),
    replacedBy: null,
    isCut: false,
  })
  const shown = purchase?.events.map(({ eventId, type, at, receivedAt, outcome, changes }) => {
    return [eventId, type, at, receivedAt === at, outcome, changesIn(changes)]
  })
  const change = (path: string, before: unknown, after: unknown) => [path, before, after]
  expect(shown).toEqual([
    [
      'ended',
      'EXPIRATION',
      iso(60),
      true,
      'applied',
      [change('willRenew', true, false), change('endedAt', null, iso(60))],
    ],
    [
      'uncancelled',
      'UNCANCELLATION',
      iso(41),
      true,
      'applied',
      [
        change('willRenew', false, true),
        change('cancelReason', 'UNSUBSCRIBE', null),
        change('unsubscribeDetectedAt', iso(40), null),
      ],
    ],
    [
      'cancelled',
      'CANCELLATION',
      iso(40),
      true,
      'applied',
      [
        change('willRenew', true, false),
        change('cancelReason', null, 'UNSUBSCRIBE'),
        change('unsubscribeDetectedAt', null, iso(40)),
      ],
    ],
    [
      'renewed',
      'RENEWAL',
      iso(30),
      true,
      'applied',
      [change('purchasedAt', iso(0), iso(30)), change('expiresAt', iso(30), iso(60))],
    ],
    [
      'bought',
      'INITIAL_PURCHASE',
      iso(0),
      true,
      'applied',
      [
        change('environment', null, 'PRODUCTION'),
        change('store', null, 'APP_STORE'),
        change('productId', null, 'prod_example_pro'),
        change('entitlementIds', null, ['pro']),
        change('periodType', null, 'NORMAL'),
        change('startedAt', null, iso(0)),
        change('purchasedAt', null, iso(0)),
        change('expiresAt', null, iso(30)),
        change('willRenew', null, true),
      ],
    ],
  ])
})

test('shows a late event at the time it happened, and no changes if it has no effect', async () => {
  await using app = await createTestApp()
  const again = lifecycle(ANN, 'UNCANCELLATION', 41, { id: 'again' })
  await playEvents(app, [initial({ id: 'bought' }), again], 50)
  await deliver(app, cancellation(5, 'UNSUBSCRIBE', { id: 'late' }))
  const [purchase] = (await read(app)).lines
  expect(purchase?.events.map(({ eventId }) => eventId)).toEqual(['again', 'late', 'bought'])
  const [newest, late] = purchase?.events ?? []
  expect([late?.at, late?.receivedAt]).toEqual([iso(5), iso(50)])
  expect(changesIn(newest?.changes ?? [])[0]).toEqual(['willRenew', false, true])
  await deliver(app, { ...again, id: 'once more', at: 42 })
  expect((await read(app)).lines[0]?.events[0]).toMatchObject({ eventId: 'once more', changes: [] })
})

test('shows a purchase’s replacement, and the best purchase first', async () => {
  await using app = await createTestApp()
  const basic = { ...play, product_id: 'basic:monthly', entitlement_ids: ['basic'] }
  const events = [
    initial(basic),
    lifecycle(ANN, 'PRODUCT_CHANGE', 10, { ...basic, new_product_id: 'prod_example_pro' }),
    initial({
      ...play,
      at: 10,
      purchased_day: 10,
      expiration_day: 40,
      original_transaction_id: '2000',
    }),
  ]
  await playEvents(app, events, 11)
  const { lines } = await read(app)
  expect(lines).toMatchObject([
    { transactionId: '2000', active: true, replacedBy: null },
    { transactionId: '1000', active: false, endsAt: iso(10), replacedBy: 'prod_example_pro' },
  ])
})

test('shows no replacement before it starts', async () => {
  await using app = await createTestApp()
  const basic = { ...play, product_id: 'basic:monthly', entitlement_ids: ['basic'] }
  const events = [
    initial(basic),
    lifecycle(ANN, 'PRODUCT_CHANGE', 10, { ...basic, new_product_id: 'prod_example_pro' }),
    initial({ ...play, at: 10, purchased_day: 11, original_transaction_id: '2000' }),
  ]
  await playEvents(app, events, 10.5)
  const replacedBy = async () => {
    const { lines } = await read(app)
    return lines.find(({ productId }) => productId === 'basic:monthly')?.replacedBy
  }
  expect(await replacedBy()).toBeNull()
  app.clock.now = new Date(ms(11))
  expect(await replacedBy()).toBe('prod_example_pro')
})

test('shows a transfer in the timelines of both users', async () => {
  await using app = await createTestApp()
  const moved = {
    type: 'TRANSFER',
    at: 10,
    id: 'moved',
    transferred_from: [ANN],
    transferred_to: [BOB],
  }
  const later = lifecycle(BOB, 'RENEWAL', 30, { purchased_day: 30, expiration_day: 60 })
  await playEvents(app, [initial(), moved, later], 31)
  const transfer = { eventId: 'moved', at: iso(10), from: [ANN], to: [BOB] }
  const [oldOwner, newOwner] = [await read(app, ANN), await read(app, BOB)]
  expect(oldOwner).toMatchObject({ lines: [], transfers: [transfer] })
  expect(oldOwner.sentence).toBe('We have events for this account, but no purchase.')
  expect(newOwner).toMatchObject({ ids: [BOB], lines: [{ active: true }], transfers: [transfer] })
  expect((await read(app, 'another user')).transfers).toEqual([])
})

test('shows a failed event with its error, and mentions it where access is explained', async () => {
  await using app = await createTestApp()
  await playEvents(app, [initial({ id: 'bought' })], 1)
  const { billingEvents } = app.services.db.tables
  const failed = { outcome: 'failed', error: 'the fold broke' }
  await app.services.db.write(async (tx) => void (await tx.update(billingEvents).set(failed)))
  const { sentence, lines } = await read(app)
  expect(lines[0]?.events).toMatchObject([failed])
  expect(sentence).toEndWith(
    'An event received on 1 October 2026, 00:00 UTC could not be applied and is not considered.',
  )
})

test('shows the newest 200 events of a long history', async () => {
  await using app = await createTestApp()
  await playEvents(app, [initial({ id: 'bought' })], 2_000)
  await addRenewals(app, 1, 205)
  const [purchase] = (await read(app)).lines
  expect([purchase?.events.length, purchase?.isCut]).toEqual([200, true])
  expect(purchase?.events[0]?.eventId).toBe('renewed 205')
  expect(purchase?.events.at(-1)).toMatchObject({
    eventId: 'renewed 6',
    changes: [
      { path: 'purchasedAt', before: iso(5), after: iso(6) },
      { path: 'expiresAt', before: iso(35), after: iso(36) },
    ],
  })
  await addRenewals(app, 206, 1_200)
  const [longer] = (await read(app)).lines
  expect(longer?.events[0]?.eventId).toBe('renewed 1200')
})

test('shows the best 50 purchases and counts the others', async () => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(1))
  for (let at = 0; at < 52; at++) {
    const fields = { original_transaction_id: `L${at}`, expiration_day: 30 + at }
    await receive(app, initial(fields))
  }
  const { lines, hiddenLines } = await read(app)
  expect([lines.length, hiddenLines]).toEqual([50, 2])
  expect([lines[0]?.transactionId, lines.at(-1)?.transactionId]).toEqual(['L51', 'L2'])
})

test('explains access by the subscription of a user with hundreds of coin purchases', async () => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(1))
  for (let at = 0; at < 505; at++) {
    const ids = { transaction_id: `C${at}`, original_transaction_id: `C${at}` }
    const coins = { ...ids, product_id: 'coins', entitlement_ids: null, expiration_at_ms: null }
    await receive(app, { ...initial(coins), type: 'NON_RENEWING_PURCHASE', id: `bought ${at}` })
  }
  await receive(app, initial({ transaction_id: 'S1', original_transaction_id: 'S1' }))
  const { lines, hiddenLines } = await read(app)
  expect([lines[0]?.transactionId, hiddenLines]).toEqual(['S1', 456])
  expect(await app.services.timeline.summarize(ANN)).toMatchObject({ isActive: true })
})

test('the console shows each environment’s timeline, and explains access per event', async () => {
  await using app = await createTestApp()
  await playEvents(app, [initial({ id: 'test', environment: 'SANDBOX' })], 1)
  const owner = await signInOperator(app)
  const production = await owner.read(`people/${ANN}/timeline`)
  expect(production).toMatchObject({ environment: 'production', lines: [] })
  expect(production.sentence).toContain('test purchases only')
  const sandbox = await owner.read(`people/${ANN}/timeline?environment=sandbox`)
  expect(sandbox).toMatchObject({ environment: 'sandbox', ids: [ANN], lines: [{ active: true }] })
  expect((await owner.ask('GET', `people/${ANN}/timeline?environment=x`)).status).toBe(422)
  const event = await owner.read('events/test')
  expect(event).toMatchObject({ eventId: 'test', type: 'INITIAL_PURCHASE', appUserId: ANN })
  expect(event.access).toBe(sandbox.sentence)
  expect((await owner.ask('GET', 'events/none')).status).toBe(404)
})

function read({ services }: TestApp, user = ANN) {
  return services.timeline.read(user, 'production')
}

function changesIn(changes: { path: string; before: unknown; after: unknown }[]) {
  return changes.map(({ path, before, after }) => [path, before, after])
}

/** Stores one renewal per day in the log, as if each had been delivered on time. */
async function addRenewals({ services }: TestApp, from: number, to: number) {
  const { billingEvents } = services.db.tables
  const [first] = await services.db.read.select().from(billingEvents)
  if (!first) throw new Error('there is no event yet')
  const rows = Array.from({ length: to - from + 1 }, (_, nth) => {
    const day = from + nth
    const name = `renewed ${day}`
    const event = renewal(day, day + 30, { id: name })
    return {
      ...first,
      id: `${first.id}-${String(day).padStart(6, '0')}`,
      eventId: name,
      type: event.type,
      eventAt: new Date(ms(day)),
      orderedAt: ms(day),
      body: Buffer.from(JSON.stringify(bodyOf(event))),
    }
  })
  await services.db.write(async (tx) => {
    for (let at = 0; at < rows.length; at += 500) {
      await tx.insert(billingEvents).values(rows.slice(at, at + 500))
    }
  })
}
