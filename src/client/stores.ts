import type {
  Checkout,
  CheckoutRequest,
  PortalRequest,
  SubmittedPurchase,
  SubmittedPurchases,
} from './models.ts'
import type { CallOptions } from './shared-types.ts'

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
   * Sells a plan by card: open `url` in a browser. After the return, submit the session id in the address's `session_id`
   * with `submitPurchases`.
   */
  startCheckout: (request: CheckoutRequest, options?: CallOptions) => Promise<Checkout>
  /** The page on which the user changes or cancels a subscription that was sold by card. Open it at once. */
  createPortalLink: (request: PortalRequest, options?: CallOptions) => Promise<{ url: string }>
}
