/** Google's formats, `androidpublisher` v3, as far as the fake Play Store supports them. */

export const PACKAGE_NAME = 'com.example.app'
export const DAY = 24 * 60 * 60 * 1000

/** A Real-time Developer Notification. It has exactly one of the last three fields. */
export type DeveloperNotification = {
  version: string
  packageName: string
  eventTimeMillis: string
  subscriptionNotification?: { version: string; notificationType: number; purchaseToken: string }
  oneTimeProductNotification?: {
    version: string
    notificationType: number
    purchaseToken: string
    sku: string
  }
  voidedPurchaseNotification?: {
    purchaseToken: string
    orderId: string
    productType: number
    refundType: number
  }
}

/** `VoidedPurchase`, with numbers for its enums and strings for its times. */
type VoidedPurchase = {
  kind: string
  purchaseToken: string
  orderId: string
  purchaseTimeMillis: string
  voidedTimeMillis: string
  voidedSource: number
  voidedReason: number
  voidedQuantity?: number
}

/** A voided purchase, with the fields by which Google's list filters. */
export type VoidedEntry = {
  voided: VoidedPurchase
  /** When Google's systems saw it (ms), which can be later than `voidedTimeMillis`. */
  seenAt: number
  isSubscription: boolean
}

/** Google's JSON omits fields with default values: a plan that does not renew has no `autoRenewEnabled`. */
export type LineItem = {
  productId: string
  expiryTime?: string
  latestSuccessfulOrderId?: string
  autoRenewingPlan?: {
    autoRenewEnabled?: true
    recurringPrice: { currencyCode: string; units: string; nanos: number }
  }
  prepaidPlan?: { allowExtendAfterTime?: string }
  offerDetails?: { basePlanId: string; offerId?: string; offerTags?: string[] }
  offerPhase?: { freeTrial: object } | { basePrice: object }
  deferredItemReplacement?: { productId: string }
  itemReplacement?: { productId: string; basePlanId?: string; replacementMode: string }
}

export type CanceledStateContext =
  | { userInitiatedCancellation: { cancelTime: string; cancelSurveyResult?: { reason: string } } }
  | { systemInitiatedCancellation: object }
  | { developerInitiatedCancellation: object }
  | { replacementCancellation: object }

type AccountIdentifiers = { obfuscatedExternalAccountId: string }

/** The contexts of states: each is present only in its own state. */
export type StateContexts = {
  pausedStateContext?: { autoResumeTime: string }
  onHoldStateContext?: { renewalDeclined: { pendingOrderId: string } }
  inGracePeriodStateContext?: { renewalDeclined: { pendingOrderId: string } }
  canceledStateContext?: CanceledStateContext
}

/** The fields of a purchase that refer to the previous one. */
export type PreviousPurchase = {
  linkedPurchaseToken?: string
  outOfAppPurchaseContext?: {
    expiredPurchaseToken: string
    expiredExternalAccountIdentifiers?: AccountIdentifiers
  }
}

export type SubscriptionPurchaseV2 = StateContexts &
  PreviousPurchase & {
    kind: string
    regionCode: string
    etag?: string
    startTime?: string
    subscriptionState: string
    acknowledgementState: string
    externalAccountIdentifiers?: AccountIdentifiers
    subscribeWithGoogleInfo?: { profileName: string; emailAddress: string }
    testPurchase?: object
    lineItems: LineItem[]
  }

export type ProductPurchaseV2 = {
  kind: string
  regionCode: string
  productLineItem: {
    productId: string
    productOfferDetails: {
      purchaseOptionId: string
      quantity: number
      refundableQuantity: number
      consumptionState: string
    }
  }[]
  purchaseStateContext: { purchaseState: string }
  purchaseCompletionTime?: string
  orderId?: string
  acknowledgementState: string
  obfuscatedExternalAccountId?: string
  testPurchaseContext?: { fopType: string }
}

/** The older format: numbers instead of words. */
export type ProductPurchase = {
  kind: string
  regionCode: string
  purchaseState: number
  consumptionState: number
  acknowledgementState: number
  purchaseTimeMillis: string
  orderId?: string
  purchaseType?: number
  quantity?: number
  obfuscatedExternalAccountId?: string
}

/** What the app submits to the server. */
export type Submission = {
  store: 'play_store'
  packageName: string
  purchaseToken: string
  productId: string
  kind: 'subscription' | 'one_time'
}

/** An RFC 3339 time. */
export function timestamp(ms: number): string {
  return new Date(ms).toISOString()
}
