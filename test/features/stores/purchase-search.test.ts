import { expect, test } from 'bun:test'
import { createTestApp } from '../../support/app.ts'
import { deliver, lifecycle, ms, purchase } from '../../support/billing.ts'
import { count, createFiguresApp } from '../../support/business.ts'
import { runCommand } from '../../support/commands.ts'
import { signInOperator } from '../../support/operator.ts'

test('support can find each purchase without a transaction by the id that the console shows', async () => {
  await using app = await createTestApp()
  const { user } = await app.register()
  const none = { transaction_id: null, original_transaction_id: null }
  for (const product_id of ['one', 'two'])
    await deliver(app, purchase(user._id, { ...none, product_id }))
  const { timeline, stores } = app.services
  const { lines } = await timeline.read(user._id, 'production')
  const ids = lines.map(({ transactionId }) => transactionId)
  expect(new Set(ids).size).toBe(2)
  expect(await stores.purchaseSearch.find(ids[0] ?? '')).toMatchObject([
    { productId: lines[0]?.productId },
  ])
})

test('finds renewals from before the index once it is filled, and after a rebuild', async () => {
  await using app = await createTestApp()
  const { user } = await app.register()
  await deliver(app, purchase(user._id))
  await deliver(
    app,
    lifecycle(user._id, 'RENEWAL', 30, { transaction_id: '1001', expiration_day: 60 }),
  )
  const { db, transactions, rebuildBilling, stores } = app.services
  const found = async () => (await stores.purchaseSearch.find('1001')).map((one) => one.userId)
  const forget = () =>
    db.write(async (tx) => {
      await tx.delete(db.tables.purchaseTransactions)
      await tx.delete(db.tables.reconciliation)
    })
  expect(await found()).toEqual([user._id])
  await forget()
  expect(await found()).toEqual([])
  await transactions.backfill(AbortSignal.timeout(5_000))
  expect(await found()).toEqual([user._id])
  await forget()
  await rebuildBilling(AbortSignal.timeout(5_000))
  expect(await found()).toEqual([user._id])
})

test('purchases are sorted by transaction in both directions, page by page', async () => {
  await using app = await createTestApp()
  const browser = await signInOperator(app)
  for (let at = 100; at < 221; at++) {
    const ids = { transaction_id: `${at}`, original_transaction_id: `${at}`, expiration_day: 9_999 }
    await deliver(app, purchase(`user ${at}`, ids))
  }
  const read = async (sort: string) => {
    const ids: string[] = []
    for (let after: string | null = ''; after !== null; ) {
      const cursor: string = after === '' ? '' : `&after=${encodeURIComponent(after)}`
      const { purchases, next } = await browser.read(`purchases?sort=${sort}${cursor}`)
      for (const { transactionId } of purchases) ids.push(transactionId)
      after = next
    }
    return ids
  }
  const ascending = await read('transaction')
  expect(ascending).toEqual(Array.from({ length: 121 }, (_, at) => String(100 + at)))
  expect(await read('-transaction')).toEqual(ascending.toReversed())
})

test('purchases are sorted by the start of their periods, and those from an older version once the column is filled', async () => {
  await using app = await createTestApp()
  const browser = await signInOperator(app)
  for (const [id, day] of [
    ['1', 5],
    ['2', 9],
    ['3', 1],
  ] as const) {
    const ids = { transaction_id: id, original_transaction_id: id, expiration_day: 9_999 }
    await deliver(app, purchase(`user ${id}`, { ...ids, purchased_day: day }))
  }
  const read = async (sort: string) =>
    (await browser.read(`purchases?sort=${sort}`)).purchases.map(
      ({ transactionId }: { transactionId: string }) => transactionId,
    )
  expect(await read('-latest')).toEqual(['2', '1', '3'])
  expect(await read('latest')).toEqual(['3', '1', '2'])
  const { db, latestTimes } = app.services
  await db.write(async (tx) => void (await tx.update(db.tables.subscriptions).set({ latestAt: 0 })))
  await latestTimes.backfill(AbortSignal.timeout(5_000))
  expect(await read('-latest')).toEqual(['2', '1', '3'])
})

test('all purchases of a user are listed page by page, the latest first', async () => {
  await using app = await createTestApp()
  const browser = await signInOperator(app)
  for (let at = 0; at < 121; at++) {
    const ids = { transaction_id: `${at}`, original_transaction_id: `${at}` }
    await deliver(app, purchase('ann', { ...ids, purchased_day: at, expiration_day: 9_999 }))
  }
  const idsOf = (purchases: { transactionId: string }[]) =>
    purchases.map(({ transactionId }) => Number(transactionId))
  const latest = Array.from({ length: 121 }, (_, at) => 120 - at)
  const first = await browser.read('purchases?id=ann')
  const second = await browser.read(`purchases?id=ann&after=${encodeURIComponent(first.next)}`)
  expect(idsOf([...first.purchases, ...second.purchases])).toEqual(latest)
  expect(second.next).toBe(null)
  const { outcome } = await runCommand(app, 'purchases list', [], { user: 'ann', limit: '3' })
  expect(idsOf(outcome)).toEqual([120, 119, 118])
})

test('coins that a user has bought twice are not listed as a duplicate', async () => {
  await using app = await createTestApp()
  app.clock.now = new Date(ms(1))
  const coins = { product_id: 'coins', entitlement_ids: null, expiration_day: null }
  for (const [id, fields] of Object.entries({ 1: {}, 2: {}, 3: coins, 4: coins })) {
    const ids = { transaction_id: id, original_transaction_id: id }
    const type = fields === coins ? 'NON_RENEWING_PURCHASE' : 'INITIAL_PURCHASE'
    await deliver(app, { ...purchase('ann', { ...ids, ...fields }), type })
  }
  for (const id of ['5', '6']) {
    const unnamed = { product_id: null, transaction_id: id, original_transaction_id: id }
    await deliver(
      app,
      lifecycle('ann', 'SUBSCRIPTION_EXTENDED', 0, { ...unnamed, expiration_day: 30 }),
    )
  }
  const { outcome } = await runCommand(app, 'purchases list', [], { doubled: true })
  expect(outcome.map((one: { transactionId: string }) => one.transactionId)).toEqual(['1', '2'])
  const all = await runCommand(app, 'purchases list', [])
  expect(all.outcome).toHaveLength(6)
})

test('a listed purchase has the latest payment in its own currency, once it is counted', async () => {
  await using app = await createFiguresApp()
  const browser = await signInOperator(app)
  const { user } = await app.register()
  const rupees = { currency: 'INR', price_in_purchased_currency: 499, expiration_day: 30 }
  await deliver(app, purchase(user._id, rupees))
  const readPayment = async () => (await browser.read('purchases?id=1000')).purchases[0].lastPayment
  expect(await readPayment()).toBe(null)
  const pricier = { ...rupees, price_in_purchased_currency: 1_23_456.78, transaction_id: '1001' }
  await deliver(
    app,
    lifecycle(user._id, 'RENEWAL', 30, { ...pricier, purchased_day: 30, expiration_day: 60 }),
  )
  await app.services.backlog.flush()
  await count(app)
  expect(await readPayment()).toEqual({ amount: 1_23_456.78, currency: 'INR' })
})

test('a listed trial without a price has no latest payment', async () => {
  await using app = await createFiguresApp()
  const browser = await signInOperator(app)
  const { user } = await app.register()
  await deliver(app, purchase(user._id, { period_type: 'TRIAL', price: null }))
  await app.services.backlog.flush()
  await count(app)
  expect((await browser.read('purchases?id=1000')).purchases[0].lastPayment).toBe(null)
})
