import type { StoredEnvironment } from '../environment.ts'
import type { Support } from '../inbox/support.ts'
import { canBeEndless, type OrderedEvent } from './event-order.ts'

/** A subscription or a one-off purchase. Times in ms. Derived from events alone, never from the clock. */
export type Purchase = {
  environment: StoredEnvironment
  store: string | null
  productId: string | null
  priceId: string | null
  /** How many units were bought, each with the seats of its plan; null if the store does not state it. */
  quantity: number | null
  entitlementIds: string[]
  periodType: string | null
  /** In US dollars, only to rank purchases. */
  price: number | null
  startedAt: number
  /** When the current period began. */
  purchasedAt: number | null
  /** Null: never. */
  expiresAt: number | null
  graceExpiresAt: number | null
  willRenew: boolean
  cancelReason: string | null
  unsubscribeDetectedAt: number | null
  billingIssueDetectedAt: number | null
  refundedAt: number | null
  endedAt: number | null
  pausedAt: number | null
  autoResumeAt: number | null
  pendingProductId: string | null
  /** The time of the latest PRODUCT_CHANGE, and its new product if it names one. */
  changedAt: number | null
  changedTo: string | null
  /** The current period, if the store itself has described it: then only the store changes it. */
  stated: { transactionId: string | null } | null
  /** What the billing provider last reported about a period that the store has also described. */
  provided: { productId: string | null; expiresAt: number | null } | null
  /** When each refunded order (Google) or invoice (Stripe) was refunded, by its id. */
  refundedOrders: Record<string, number> | null
  /** Granted during a store outage, until the real purchase replaces it. */
  isTemporary: boolean
  /** Who granted the access without a purchase, and why; null for a purchase. */
  grant: (Support & { revokedBy?: string }) | null
}

export const EMPTY_PURCHASE: Purchase = {
  environment: 'PRODUCTION',
  store: null,
  productId: null,
  priceId: null,
  quantity: null,
  entitlementIds: [],
  periodType: null,
  price: null,
  startedAt: 0,
  purchasedAt: null,
  expiresAt: null,
  graceExpiresAt: null,
  willRenew: true,
  cancelReason: null,
  unsubscribeDetectedAt: null,
  billingIssueDetectedAt: null,
  refundedAt: null,
  endedAt: null,
  pausedAt: null,
  autoResumeAt: null,
  pendingProductId: null,
  changedAt: null,
  changedTo: null,
  stated: null,
  provided: null,
  refundedOrders: null,
  isTemporary: false,
  grant: null,
}

export function purchaseFromFirstEvent(event: OrderedEvent): Purchase {
  const { environment, store, productId, priceId, quantity, entitlementIds, periodType, price } =
    event
  const { purchasedAt, expiresAt } = event
  return {
    ...EMPTY_PURCHASE,
    environment,
    store,
    productId,
    priceId,
    quantity,
    entitlementIds,
    periodType,
    price,
    startedAt: purchasedAt ?? event.orderedAt,
    purchasedAt,
    // Without a known end, an event of a subscription gives no access.
    expiresAt: expiresAt ?? (canBeEndless(event) ? null : (purchasedAt ?? event.orderedAt)),
    stated: event.stated === null ? null : { transactionId: event.transactionId },
    isTemporary: event.type === 'TEMPORARY_ENTITLEMENT_GRANT',
  }
}

export function findSource({ stated, grant }: Purchase) {
  if (grant !== null) return 'granted' as const
  return stated === null ? ('provider' as const) : ('store' as const)
}
