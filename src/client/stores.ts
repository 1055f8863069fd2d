import type { SubmittedPurchase, SubmittedPurchases } from './models.ts'
import type { CallOptions } from './shared-types.ts'

/** The app stores' purchases. */
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
}
