import { expect, test } from 'bun:test'
import type { ExpectedState } from '../../../support/stripe/expected-states.ts'
import { createLibraryWorld } from '../../../support/stripe/library.ts'
import type { FakeSubscription } from '../../../support/stripe/subscription.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

function expectedStateOf(subscription: FakeSubscription): ExpectedState {
  const [state] = subscription.expectedStates()
  if (!state) throw new Error('the subscription has no expected state')
  return state
}

test('a renewal is a draft for an hour, fails, is retried, and ends as the account is configured', async () => {
  for (const afterRetries of ['cancel', 'unpaid', 'past_due', 'pause'] as const) {
    await using world = createLibraryWorld({ account: { afterRetries, retryDays: [3, 5] } })
    const { fake } = world
    const subscription = fake.subscribe()
    const state = () => [subscription.status(), subscription.currentInvoice().status]
    subscription.setCard('declines')
    fake.advanceTo(subscription.periodEnd())
    expect(state()).toEqual(['active', 'draft'])
    fake.advance(HOUR_MS)
    expect(state()).toEqual(['past_due', 'open'])
    expect(expectedStateOf(subscription)).toMatchObject({ hasAccess: true, hasBillingIssue: true })
    subscription.exhaustRetries()
    const ends = { cancel: 'canceled', unpaid: 'unpaid', past_due: 'past_due', pause: 'paused' }
    expect(subscription.status()).toBe(ends[afterRetries])
    fake.advance(10 * DAY_MS)
    expect(expectedStateOf(subscription).hasAccess).toBe(false)
    if (afterRetries === 'cancel') {
      expect(subscription.object.cancellation_details?.reason).toBe('payment_failed')
      continue
    }
    subscription.replaceCard()
    if (afterRetries === 'pause') subscription.resume()
    else subscription.pay()
    expect(expectedStateOf(subscription)).toMatchObject({ status: 'active', hasAccess: true })
  }
})

test('a renewal that requires 3-D Secure is in its grace period until it is confirmed', async () => {
  await using world = createLibraryWorld()
  const subscription = world.fake.subscribe()
  subscription.failToRenew('asks')
  expect(expectedStateOf(subscription)).toMatchObject({ status: 'past_due', hasAccess: true })
  subscription.confirm()
  expect(expectedStateOf(subscription)).toMatchObject({ status: 'active', hasBillingIssue: false })
})

test('a trial is followed by a paid period, or without a card by what was chosen at its start', async () => {
  await using world = createLibraryWorld()
  const { fake } = world
  const start = (missingPaymentMethod: 'cancel' | 'pause' | 'create_invoice') =>
    fake.subscribe({ trialDays: 7, card: null, missingPaymentMethod })
  const paying = fake.subscribe({ trialDays: 7 })
  const others = [start('cancel'), start('pause'), start('create_invoice')]
  expect(expectedStateOf(paying)).toMatchObject({
    isTrial: true,
    hasAccess: true,
    paid: { amount: 0 },
  })
  fake.advance(7 * DAY_MS + HOUR_MS)
  expect(expectedStateOf(paying)).toMatchObject({ isTrial: false, paid: { amount: 9.99 } })
  expect(others.map(({ status }) => status())).toEqual(['canceled', 'paused', 'past_due'])
  const paused = others[1]
  paused?.replaceCard()
  paused?.resume()
  expect(paused?.status()).toBe('active')
})

test('an unfinished first payment expires after 23 hours', async () => {
  await using world = createLibraryWorld()
  const { fake } = world
  const session = await world.openSession()
  expect(fake.completeCheckout(session.id, 'authenticate')).toBeNull()
  const created = fake.events.all.find(({ type }) => type === 'customer.subscription.created')
  const subscription = fake.subscription(created?.data.object.id ?? '')
  expect([subscription.status(), subscription.expectedStates()]).toEqual(['incomplete', []])
  fake.advance(23 * HOUR_MS)
  expect([subscription.status(), subscription.currentInvoice().status]).toEqual([
    'incomplete_expired',
    'void',
  ])
})

test('a bank debit completes the session, and settles or fails later', async () => {
  await using world = createLibraryWorld()
  const { fake, client } = world
  const [one, two] = [await world.openSession(), await world.openSession()]
  for (const { id } of [one, two]) {
    expect(fake.completeCheckout(id, 'debit')?.status()).toBe('incomplete')
    expect(await client.checkout.sessions.retrieve(id)).toMatchObject({
      status: 'complete',
      payment_status: 'unpaid',
    })
  }
  fake.advance(3 * DAY_MS)
  fake.settleDebit(one.id)
  fake.failDebit(two.id)
  fake.advance(HOUR_MS)
  expect(await client.checkout.sessions.retrieve(one.id)).toMatchObject({ payment_status: 'paid' })
  const statuses = [one, two].map(({ id }) => {
    const { subscription } = fake.session(id)
    return fake.subscription(subscription as string).status()
  })
  expect(statuses).toEqual(['active', 'incomplete_expired'])
})

test('only a full refund of the current period ends access, unless it fails', async () => {
  await using world = createLibraryWorld()
  const { fake, client } = world
  const subscription = fake.subscribe()
  subscription.renew()
  const has = () => expectedStateOf(subscription).hasAccess
  subscription.refund({ earlier: 1 })
  expect(has()).toBe(true)
  const part = subscription.refund({ amount: 500 })
  expect(has()).toBe(true)
  const rest = subscription.refund({ isPending: true })
  expect([has(), rest.amount]).toEqual([false, 499])
  subscription.failRefund(rest)
  expect(has()).toBe(true)
  const charge = await client.charges.retrieve(subscription.chargeOf().id, { expand: ['refunds'] })
  expect([charge.amount_refunded, charge.refunded]).toEqual([500, false])
  expect(charge.refunds?.data.map(({ id }) => id)).toEqual([part.id, rest.id])
  const { data } = await client.invoicePayments.list({
    payment: { type: 'payment_intent', payment_intent: charge.payment_intent as string },
  })
  expect(data.map(({ invoice }) => invoice)).toEqual([subscription.currentInvoice().id])
})

test('a dispute ends access while the money is withdrawn', async () => {
  await using world = createLibraryWorld()
  const { fake, client } = world
  const subscription = fake.subscribe()
  const has = () => expectedStateOf(subscription).hasAccess
  const dispute = subscription.dispute({ isInquiry: true })
  expect([dispute.status, has()]).toEqual(['warning_needs_response', true])
  subscription.escalateDispute(dispute)
  expect(has()).toBe(false)
  subscription.winDispute(dispute)
  expect(has()).toBe(true)
  const won = await client.disputes.retrieve(dispute.id)
  expect(won.balance_transactions.map(({ amount }) => amount)).toEqual([-999, 999])
  const other = fake.subscribe()
  other.loseDispute(other.dispute())
  expect(expectedStateOf(other)).toMatchObject({ hasAccess: false, isRefunded: true })
  const types = fake.events.all.map(({ type }) => type)
  expect(types.filter((type) => type.startsWith('charge.dispute'))).toEqual([
    'charge.dispute.created',
    'charge.dispute.updated',
    'charge.dispute.funds_withdrawn',
    'charge.dispute.funds_reinstated',
    'charge.dispute.closed',
    'charge.dispute.created',
    'charge.dispute.funds_withdrawn',
    'charge.dispute.closed',
  ])
})

test('a price switch is prorated, and another interval starts a new period', async () => {
  await using world = createLibraryWorld()
  const { fake } = world
  const subscription = fake.subscribe()
  fake.advance(15.5 * DAY_MS)
  subscription.switchPrice(fake.createPrice({ amount: 1999 }), 'always_invoice')
  expect(subscription.currentInvoice()).toMatchObject({ amount_paid: 500 })
  const end = subscription.periodEnd()
  subscription.switchPrice(fake.createPrice({ amount: 9_999, interval: 'year' }))
  expect(subscription.item().current_period_start).toBe(fake.now())
  expect(subscription.currentInvoice().amount_paid).toBe(9_999 - 1_000)
  expect(subscription.periodEnd()).toBeGreaterThan(end)
})

test('a schedule switches the price at the end of the period', async () => {
  await using world = createLibraryWorld()
  const { fake, client } = world
  const subscription = fake.subscribe()
  const next = fake.createPrice({ amount: 499 })
  const { id } = subscription.planSwitch(next)
  expect(expectedStateOf(subscription).pendingPrice).toBe(next.id)
  expect((await client.subscriptionSchedules.retrieve(id)).phases).toHaveLength(2)
  subscription.renew()
  expect(expectedStateOf(subscription)).toMatchObject({ price: next.id, pendingPrice: null })
  subscription.renew()
  expect(subscription.object.schedule).toBeNull()
})

test('items can be added and removed, and have quantities', async () => {
  await using world = createLibraryWorld()
  const { fake } = world
  const subscription = fake.subscribe({ quantity: 5 })
  const added = subscription.addItem(fake.createPrice(), 2)
  subscription.renew()
  expect(
    subscription.expectedStates().map(({ quantity, paid }) => [quantity, paid?.amount]),
  ).toEqual([
    [5, 49.95],
    [2, 19.98],
  ])
  subscription.removeItem(1)
  subscription.setQuantity(0)
  expect(subscription.expectedStates()).toMatchObject([
    { item: added.id, isEnded: true },
    { quantity: 0, hasAccess: false },
  ])
})

test('paused collection follows its behavior until it resumes', async () => {
  await using world = createLibraryWorld()
  const { fake } = world
  const resumesAt = fake.now() + 40 * 86_400
  const behaviors = ['void', 'mark_uncollectible', 'keep_as_draft'] as const
  const all = behaviors.map((behavior) => {
    const subscription = fake.subscribe()
    subscription.pauseCollection(behavior, resumesAt)
    return subscription
  })
  fake.advance(31 * DAY_MS + HOUR_MS)
  const states = all.map((one) => [one.currentInvoice().status, expectedStateOf(one).hasAccess])
  expect(states).toEqual([
    ['void', false],
    ['uncollectible', true],
    ['draft', true],
  ])
  fake.advance(10 * DAY_MS)
  expect(all.map(expectedStateOf).every(({ hasAccess }) => hasAccess)).toBe(true)
})

test('amounts are in the smallest unit of their currency', async () => {
  await using world = createLibraryWorld()
  const { fake } = world
  const paidIn = (currency: string, amount: number) =>
    expectedStateOf(fake.subscribe({ price: fake.createPrice({ currency, amount }) })).paid?.amount
  expect([paidIn('jpy', 500), paidIn('kwd', 1500), paidIn('isk', 50_000)]).toEqual([500, 1.5, 500])
  expect(() => fake.createPrice({ currency: 'isk', amount: 50_050 })).toThrow()
})
