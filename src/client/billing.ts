import type { LimitUsage, SubmittedPurchase, SubmittedPurchases, Subscription } from './models.ts'
import type { CallOptions, LanguageInput } from './shared-types.ts'

/** The signed-in user's purchases. */
export type BillingFunctions = {
  /**
   * Submits purchases after buying, for every transaction that StoreKit reports at launch, and when the user restores
   * purchases. `takeOver` also moves purchases that belong to another user: ask the user first.
   */
  submitPurchases: (
    submission: {
      purchases: SubmittedPurchase[]
      takeOver?: boolean
      environment?: 'production' | 'sandbox'
    },
    options?: CallOptions,
  ) => Promise<SubmittedPurchases>
  /** Returns the user's purchases and entitlements. For access, check `entitlements`: `entitlements.some(({ id, active }) => id === 'pro' && active)`. */
  readSubscription: (
    view?: { environment?: 'production' | 'sandbox' } & LanguageInput,
    options?: CallOptions,
  ) => Promise<Subscription>
}

/** Usage of the plan's limits. */
export type UsageFunctions = {
  /** Returns every limit of the user's plan, and how much of it is used in the current period. */
  readUsage: (options?: CallOptions) => Promise<LimitUsage[]>
}
