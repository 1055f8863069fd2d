import { expect, test } from 'bun:test'
import { expectMatchingStates } from '../../../support/stripe/compare.ts'
import { createStripeWorld, type StripeWorld } from '../../../support/stripe/world.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

type Bought = Awaited<ReturnType<StripeWorld['buy']>>
type Step = (bought: Bought, world: StripeWorld) => unknown

const HISTORIES: Record<string, Step[]> = {
  'is renewed': [(it) => it.renew(), (it) => it.renew()],
  'is cancelled at the end of its period': [(it) => it.cancelAt(), (_, w) => w.advance(40 * DAY)],
  'is cancelled, and the cancellation is undone': [
    (it) => it.cancelAt(),
    (it) => it.undoCancel(),
    (it) => it.renew(),
  ],
  'is cancelled immediately': [(it) => it.cancel()],
  'is cancelled at a later date': [
    (it, { app }) => it.cancelAt(Math.floor(app.clock.now.getTime() / 1000) + 45 * 86_400),
    (_, w) => w.advance(31 * DAY),
    (_, w) => w.advance(20 * DAY),
  ],
  'cannot be charged, and is charged later': [
    (it) => it.failToRenew(),
    (it) => it.setCard('pays'),
    (it) => it.pay(),
  ],
  'cannot be charged until it is cancelled': [
    (it) => it.failToRenew(),
    (it) => it.exhaustRetries(),
  ],
  'requires 3-D Secure': [(it) => it.failToRenew('asks'), (it) => it.confirm()],
  'is not charged while its collection is paused': [
    (it) => it.pauseCollection('void'),
    (it) => it.renew(),
    (it) => it.resumeCollection(),
    (_, w) => w.advance(31 * DAY),
  ],
  'keeps its invoices as drafts': [(it) => it.pauseCollection('keep_as_draft'), (it) => it.renew()],
  'is paused': [(it) => it.pause(), (it) => it.resume()],
  'changes its price': [(it, w) => it.switchPrice(w.prices.team), (it) => it.renew()],
  'changes its price with the next period': [
    (it, w) => it.planSwitch(w.prices.team),
    (it) => it.renew(),
  ],
  'changes its quantity': [(it) => it.setQuantity(5), (it) => it.setQuantity(0)],
  'gets a second product, and loses it': [
    (it, w) => it.addItem(w.prices.team),
    (it) => it.removeItem(1),
  ],
  'is refunded': [(it) => it.refund(), (it) => it.renew()],
  'is refunded, and changes its price': [
    (it) => it.refund(),
    (it, w) => it.switchPrice(w.prices.team, 'always_invoice'),
    (it) => it.renew(),
  ],
  'is disputed after a second product was added': [
    async (_, w) => w.advance(5 * DAY),
    (it, w) => it.addItem(w.prices.team),
    (it) => it.dispute(),
  ],
  'is refunded for a change of its price': [
    (it, w) => it.switchPrice(w.prices.team, 'always_invoice'),
    (it) => it.refund(),
    (it) => it.renew(),
  ],
  'changes its price while its collection is paused': [
    (it) => it.pauseCollection('void'),
    (it) => it.renew(),
    (it, w) => it.switchPrice(w.prices.team, 'always_invoice'),
  ],
  'is refunded in part': [(it) => it.refund({ amount: 100 })],
  'is refunded for an earlier period': [(it) => it.renew(), (it) => it.refund({ earlier: 1 })],
  'is disputed and lost': [(it) => it.loseDispute(it.dispute())],
  'is disputed and won': [(it) => it.winDispute(it.dispute())],
  'is only inquired about': [(it) => it.closeInquiry(it.dispute({ isInquiry: true }))],
}

test.each(Object.entries(HISTORIES))('a subscription %s', async (_name, steps) => {
  await using world = await createStripeWorld()
  const bought = await world.buy('pro')
  await expectMatchingStates(world)
  for (const step of steps) {
    await step(bought, world)
    await world.advance(HOUR)
    await expectMatchingStates(world)
  }
  const { changed } = await world.app.services.rebuildBilling(AbortSignal.timeout(20_000))
  expect(changed).toEqual([])
})

test('a subscription that is left past due has access for one grace period only', async () => {
  await using world = await createStripeWorld({ account: { afterRetries: 'past_due' } })
  const bought = await world.buy('pro')
  bought.failToRenew()
  await world.drain()
  expect(await world.list()).toMatchObject([{ active: true, status: 'in_grace_period' }])
  for (let months = 0; months < 3; months++) {
    bought.renew()
    await world.advance(HOUR)
    expect([bought.status(), ...(await world.list())]).toMatchObject([
      'past_due',
      { active: false },
    ])
    await expectMatchingStates(world)
  }
  bought.setCard('pays')
  bought.pay()
  await world.drain()
  await expectMatchingStates(world)
})
