import type {
  Checkout,
  CheckoutRequest,
  PortalRequest,
  PurchaseResult,
  SubmittedPurchase,
  SubmittedPurchases,
} from './models.ts'
import type { CallOptions } from './shared-types.ts'

/** The final result of a queued purchase: its outcome is `bound`, `known` or `refused`. */
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
   * Stores a purchase on this device before it resolves, then submits it as the signed-in user until its result is
   * final, also after a restart: listen with `onPurchaseResult`. Throws `unauthenticated` if no user is signed in.
   */
  queuePurchase: (purchase: SubmittedPurchase) => Promise<void>
  /**
   * Calls `listener` with the result of each queued purchase: finish the transaction unless it is `refused`. Call it at
   * each start, which resumes the queue. Returns a function that stops it.
   */
  onPurchaseResult: (listener: (result: QueuedPurchaseResult) => void) => () => void
  /**
   * Starts the purchase of a plan by card: open `url` in a browser. When the user returns, submit the session id in the
   * URL's `session_id` with `submitPurchases`.
   */
  startCheckout: (request: CheckoutRequest, options?: CallOptions) => Promise<Checkout>
  /** Returns the page on which the user changes or cancels a subscription bought by card. Open it immediately. */
  createPortalLink: (request: PortalRequest, options?: CallOptions) => Promise<{ url: string }>
}
