import type {
  Checkout,
  CheckoutRequest,
  PortalRequest,
  PurchaseResult,
  SubmittedPurchase,
  SubmittedPurchases,
} from './models.ts'
import type { CallOptions } from './shared-types.ts'

/** What the server has decided about a queued purchase: `bound`, `known` or `refused`. */
export type QueuedPurchaseResult = { purchase: SubmittedPurchase; result: PurchaseResult }

/** Purchases in the app stores and by card. */
export type StoreFunctions = {
  /**
   * Submits purchases after buying, for every transaction that StoreKit reports at launch, and when the user restores
   * purchases. `takeOver` also moves purchases that belong to another user: ask the user first.
   */
  submitPurchases: (
    submission: {
      purchases: SubmittedPurchase[]
      takeOver?: boolean | undefined
      environment?: 'production' | 'sandbox' | undefined
    },
    options?: CallOptions,
  ) => Promise<SubmittedPurchases>
  /**
   * Stores a purchase on this device before it resolves, then submits it as the signed-in user until the server has decided
   * about it, also after the app was closed: listen with `onPurchaseResult`. Throws `unauthenticated` if no user is signed in.
   */
  queuePurchase: (purchase: SubmittedPurchase) => Promise<void>
  /**
   * Calls `listener` with the result of each queued purchase: finish the transaction unless it is `refused`. Call it at each
   * start, which continues with what is queued. Returns a function that stops it.
   */
  onPurchaseResult: (listener: (result: QueuedPurchaseResult) => void) => () => void
  /**
   * Sells a plan by card: open `url` in a browser. After the return, submit the session id in the address's `session_id`
   * with `submitPurchases`.
   */
  startCheckout: (request: CheckoutRequest, options?: CallOptions) => Promise<Checkout>
  /** The page on which the user changes or cancels a subscription that was sold by card. Open it at once. */
  createPortalLink: (request: PortalRequest, options?: CallOptions) => Promise<{ url: string }>
}
