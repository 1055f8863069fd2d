import { expect } from 'bun:test'
import { readPurchase } from '../../../src/features/billing/projection/fold-state.ts'
import { computeAccess } from '../../../src/features/billing/purchases/access.ts'
import type { StripeWorld } from './world.ts'

/** Compares every purchase that the server knows with the books of the fake. */
export async function expectTruth({ app, stripe }: StripeWorld) {
  const now = app.clock.now.getTime()
  const rows = await app.services.db.read.select().from(app.services.db.tables.subscriptions)
  const known = rows.map(({ purchaseKey, state }) => {
    const purchase = readPurchase(state)
    const { active } = computeAccess(purchase, now, 0)
    return {
      key: purchaseKey,
      hasAccess: active,
      price: purchase.priceId,
      quantity: purchase.quantity,
      willRenew: purchase.willRenew,
      hasBillingIssue: purchase.billingIssueDetectedAt !== null,
      isPaused: purchase.pausedAt !== null && purchase.quantity !== 0,
      isRefunded: purchase.refundedAt !== null,
      isTrial: purchase.periodType === 'TRIAL',
    }
  })
  const keys = new Set(known.map(({ key }) => key))
  // An item that came and went between two requests was never seen.
  const isSeen = ({ key, hasAccess }: { key: string; hasAccess: boolean }) =>
    keys.has(key) || hasAccess
  const due = stripe
    .truth()
    .filter(isSeen)
    .map((one) => ({
      key: one.key,
      hasAccess: one.hasAccess,
      price: one.price,
      quantity: one.quantity,
      willRenew: one.willRenew,
      hasBillingIssue: one.hasBillingIssue,
      isPaused: one.isPaused && one.quantity !== 0,
      isRefunded: one.isRefunded,
      isTrial: one.isTrial,
    }))
  const sorted = <Of extends { key: string }>(list: Of[]) =>
    list.toSorted((a, b) => (a.key < b.key ? -1 : 1))
  expect(sorted(known)).toEqual(sorted(due) as never)
}
