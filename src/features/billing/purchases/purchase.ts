import type { StoredEnvironment } from '../environment.ts'
import type { Attribution } from '../inbox/attribution.ts'
import { none } from '../none.ts'
import { canBeLifetime, type OrderedEvent } from './event-order.ts'

/** A subscription or a one-off purchase. Times in ms. Derived from events alone, never from the clock. */
export const EMPTY_PURCHASE = {
  environment: 'PRODUCTION' as StoredEnvironment,
  store: none<string>(),
  productId: none<string>(),
  priceId: none<string>(),
  /** How many units were bought, each with the seats of its plan; null if the store does not state it. */
  quantity: none<number>(),
  entitlementIds: [] as string[],
  periodType: none<string>(),
  /** In US dollars, only to rank purchases. */
  price: none<number>(),
  startedAt: 0,
  /** When the current period began. */
  purchasedAt: none<number>(),
  /** Null: never. */
  expiresAt: none<number>(),
  graceExpiresAt: none<number>(),
  willRenew: true,
  cancelReason: none<string>(),
  unsubscribeDetectedAt: none<number>(),
  billingIssueDetectedAt: none<number>(),
  refundedAt: none<number>(),
  endedAt: none<number>(),
  pausedAt: none<number>(),
  autoResumeAt: none<number>(),
  pendingProductId: none<string>(),
  /** The time of the latest PRODUCT_CHANGE, and its new product if it names one. */
  changedAt: none<number>(),
  changedTo: none<string>(),
  /** Not null if the store itself has described the current period: then only the store can change it. */
  stated: none<{ transactionId: string | null }>(),
  /** The billing provider's last report about a period that the store has also described. */
  provided: none<{ productId: string | null; expiresAt: number | null }>(),
  /** When each refunded order (Google) or invoice (Stripe) was refunded, by its id. */
  refundedOrders: none<Record<string, number>>(),
  /** Granted during a store outage, until the real purchase replaces it. */
  isTemporary: false,
  /** Who granted the access without a purchase, and why; null for a purchase. */
  grant: none<Attribution & { revokedBy?: string }>(),
}

export type Purchase = typeof EMPTY_PURCHASE

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
    // Without a known end, a subscription event grants no access.
    expiresAt: expiresAt ?? (canBeLifetime(event) ? null : (purchasedAt ?? event.orderedAt)),
    stated: event.stated === null ? null : { transactionId: event.transactionId },
    isTemporary: event.type === 'TEMPORARY_ENTITLEMENT_GRANT',
  }
}

export function findSource({ stated, grant }: Purchase) {
  if (grant !== null) return 'granted' as const
  return stated === null ? ('provider' as const) : ('store' as const)
}
