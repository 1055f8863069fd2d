import type { PlanLimits, PricingPlan } from './app-data.ts'
import type { CallOptions, LanguageInput } from './shared-types.ts'

/** A user's purchases and entitlements. Check `entitlements` for access. */
export type Subscription = {
  environment: string
  /** One per entitlement id. */
  entitlements: Entitlement[]
  /** The purchases, best first. */
  subscriptions: SubscriptionLine[]
  /** The plan of the best active purchase, else the plan with code `free`, else null. */
  plan: PricingPlan | null
  /** The plan's limits; null without a plan. */
  limits: PlanLimits | null
}

/** A named right that a purchase grants, such as `pro`. */
export type Entitlement = {
  /** The billing provider's id for it, such as `pro`. */
  id: string
  /** Whether the user has access now. */
  active: boolean
  /** ISO 8601; null if it never expires. */
  expiresAt: string | null
  /** When the grace period for a failed payment ends, ISO 8601; null if there is none. */
  gracePeriodExpiresAt: string | null
  productId: string | null
  /** `APP_STORE`, `PLAY_STORE`, `STRIPE` … */
  store: string | null
  /** `NORMAL`, `TRIAL`, `INTRO` … */
  periodType: string | null
  willRenew: boolean
}

/** The state of a purchase. Times are ISO 8601. */
export type SubscriptionLine = {
  productId: string | null
  priceId?: string
  store: string | null
  /** `trialing`, `active`, `in_grace_period`, `in_billing_retry`, `paused`, `expired`, `refunded`, `consumed` … */
  status: string
  periodType: string | null
  purchasedAt: string | null
  /** When the current period ends; null if it never does. */
  expiresAt: string | null
  /** When access ends, with grace periods and refunds taken into account; null if it never does. */
  effectiveEndAt: string | null
  willRenew: boolean
  /** The product that the purchase will change to. */
  pendingProductId?: string
  cancelReason?: string
  unsubscribeDetectedAt?: string
  billingIssueDetectedAt?: string
  refundedAt?: string
  /** When a pause ends. */
  autoResumeAt?: string
  /** A test purchase, which gives access to testers in production. */
  isSandbox?: boolean
}

/**
 * A subscription that goes on at its store. `willRenew`: whether the store goes on charging; `managementUrl`: where the
 * user cancels it, or null for where it was bought.
 */
export type ActiveSubscription = Pick<
  SubscriptionLine,
  'store' | 'productId' | 'expiresAt' | 'willRenew'
> & { managementUrl: string | null }

/** The user's purchases, as part of a data export. */
export type BillingExport = {
  subscription: Subscription
  sandboxSubscription: Subscription
  /** The app user ids under which the billing provider knows the user. */
  billingIds: string[]
  /** The billing provider's events, oldest first. `body`: JSON text, without other users' data. */
  billingEvents: { receivedAt: string; body: string }[]
}

/** A purchase that a store has confirmed to the app. */
export type SubmittedPurchase = AppStorePurchase | PlayStorePurchase

/** A purchase from the App Store. */
export type AppStorePurchase = {
  store: 'app_store'
  /** The transaction as StoreKit signed it: `jwsRepresentation` of the verification result. */
  signedTransaction: string
}

/** A purchase from Google Play. */
export type PlayStorePurchase = {
  store: 'play_store'
  packageName: string
  /** The token that Play Billing gave the app. */
  purchaseToken: string
  productId?: string
  kind?: 'subscription' | 'one_time'
}

/** The result for a submitted purchase. */
export type PurchaseResult = {
  /** `bound` or `known`: the user has it, so finish the transaction. `refused`: see `code`. */
  outcome: string
  /** `purchase_of_another`, `purchase_invalid`, `purchase_of_other_app`, `sandbox_ignored`, `store_not_set_up` … */
  code?: string
  /** From when `takeOver` can move a purchase of another user, ISO 8601; null for never. */
  canTakeOverAt?: string | null
  environment: string | null
  transactionId: string | null
  productId: string | null
  /** When the period of the transaction ends, ISO 8601; null if it never does or the purchase was refused. */
  expiresAt: string | null
}

/** The results, one per purchase and in order, and what the user has paid for now. */
export type SubmittedPurchases = { results: PurchaseResult[]; subscription: Subscription }

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
