import { expect } from 'bun:test'
import { readPurchase } from '../../../src/features/billing/projection/fold-state.ts'
import { assessPurchases } from '../../../src/features/billing/purchases/access.ts'
import type { Purchase } from '../../../src/features/billing/purchases/purchase.ts'
import type { ExpectedState } from './expected-states.ts'
import type { StripeWorld } from './world.ts'

/** Compares every purchase that the server knows with its expected state at the fake. */
export async function expectMatchingStates({ app, stripe }: StripeWorld) {
  const now = app.clock.now.getTime()
  const rows = await app.services.db.read.select().from(app.services.db.tables.subscriptions)
  const known = rows.map(({ purchaseKey, state }) =>
    describeKnown(purchaseKey, readPurchase(state), now),
  )
  const keys = new Set(known.map(({ key }) => key))
  // An item that came and went between two requests was never seen.
  const isSeen = ({ key, hasAccess }: Described) => keys.has(key) || hasAccess
  const due = stripe.expectedStates().map(describeExpected).filter(isSeen)
  expect(sort(known)).toEqual(sort(due))
}

type Described = ReturnType<typeof describeExpected>

export function describeExpected(state: ExpectedState) {
  const { key, hasAccess, price, quantity, willRenew, hasBillingIssue } = state
  const { isPaused, isRefunded, isTrial } = state
  return {
    key,
    hasAccess,
    price: price as string | null,
    quantity: quantity as number | null,
    willRenew,
    hasBillingIssue,
    isPaused,
    isRefunded,
    isTrial,
  }
}

/** The state of a purchase at `now` (ms), as the server knows it. */
export function describeKnown(key: string, purchase: Purchase, now: number): Described {
  return {
    key,
    hasAccess: assessPurchases([purchase], now).some(({ active }) => active),
    price: purchase.priceId,
    quantity: purchase.quantity,
    willRenew: purchase.willRenew,
    hasBillingIssue: purchase.billingIssueDetectedAt !== null,
    isPaused: purchase.pausedAt !== null,
    isRefunded: purchase.refundedAt !== null,
    isTrial: purchase.periodType === 'TRIAL',
  }
}

function sort(list: Described[]): Described[] {
  return list.toSorted((a, b) => (a.key < b.key ? -1 : 1))
}
