import {
  readPurchase,
  type StoredPurchase,
} from '../../src/features/billing/projection/fold-state.ts'
import { assessPurchases } from '../../src/features/billing/purchases/access.ts'
import type { Purchase } from '../../src/features/billing/purchases/purchase.ts'
import type { TestApp } from './app.ts'

/** The state of a purchase as Homeport knows it. */
export function stateOf(purchase: Purchase, now: number) {
  const { expiresAt, graceExpiresAt, willRenew, productId, pendingProductId } = purchase
  const [assessed] = assessPurchases([purchase], now)
  return {
    productId,
    pendingProductId,
    expiresAt,
    // A past grace period is kept only if it was known.
    graceExpiresAt: purchase.endedAt === null ? graceExpiresAt : null,
    willRenew,
    isRefunded: purchase.refundedAt !== null,
    isEnded: purchase.endedAt !== null,
    hasBillingIssue: purchase.billingIssueDetectedAt !== null,
    isActive: assessed?.active,
  }
}

/** All purchases by their keys. */
export async function readPurchases({ services: { db } }: TestApp): Promise<Map<string, Purchase>> {
  const rows = await db.read.select().from(db.tables.subscriptions)
  return new Map(
    rows.map(({ purchaseKey, state }) => [purchaseKey, readPurchase(state as StoredPurchase)]),
  )
}
