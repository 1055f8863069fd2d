/** `supportTicket` is private, with signed URLs; `publicAsset` a picture for everybody. */
export type AttachmentType = 'supportTicket' | 'publicAsset'

/** A file as it was stored. */
export type Attachment = {
  key: string
  /** As sent, cleaned, with the extension of what is stored. */
  fileName: string
  /** Media type of what is stored. */
  itemType: string
  /** Where the bytes are: for ever, or of a private file for 15 minutes. */
  url: string
}

/** A file in a page of files. */
export type ListedAttachment = Attachment & {
  /** `supportTicket` or `publicAsset`; later servers may know others. */
  type: string
  /** Bytes. */
  size: number
  /** ISO 8601; null for a public file, whose `url` never ends. */
  expiresAt: string | null
  /** ISO 8601. */
  createdAt: string
}

/** A page of files, the newest first. */
export type AttachmentPage = {
  attachments: ListedAttachment[]
  /** `after` of the next page; null on the last one. */
  next: string | null
}

/** Everything about a file, with a fresh URL. */
export type AttachmentDetails = Attachment & {
  /** Bytes. */
  size: number
  /** Pixels, of a picture. */
  width?: number
  height?: number
  /** ISO 8601; null for a public file, whose `url` never ends. */
  expiresAt: string | null
  /** ISO 8601. */
  createdAt: string
}

/** What a person has paid for. Look at `entitlements` for access. */
export type Subscription = {
  environment: string
  /** Each once. */
  entitlements: Entitlement[]
  /** The purchases, the best first. */
  subscriptions: SubscriptionLine[]
  /** What the best active purchase buys, else the plan with code `free`, else null. */
  plan: PricingPlan | null
  /** What the plan allows; null without a plan. */
  limits: PlanLimits | null
}

/** Something that was paid for. */
export type Entitlement = {
  /** As the billing provider names it, such as `pro`. */
  id: string
  /** Whether the person has access now. */
  active: boolean
  /** ISO 8601; null: for ever. */
  expiresAt: string | null
  /** Until when a failed payment is tolerated; null: it is not. */
  gracePeriodExpiresAt: string | null
  productId: string | null
  /** `APP_STORE`, `PLAY_STORE`, `STRIPE` … */
  store: string | null
  /** `NORMAL`, `TRIAL`, `INTRO` … */
  periodType: string | null
  willRenew: boolean
}

/** A purchase as it stands. Times are ISO 8601. */
export type SubscriptionLine = {
  productId: string | null
  priceId?: string
  store: string | null
  /** `trialing`, `active`, `in_grace_period`, `in_billing_retry`, `paused`, `expired`, `refunded` … */
  status: string
  periodType: string | null
  purchasedAt: string | null
  /** When the current period ends; null: never. */
  expiresAt: string | null
  /** When access ends, grace and refunds included; null: never. */
  effectiveEndAt: string | null
  willRenew: boolean
  /** The product that follows. */
  pendingProductId?: string
  cancelReason?: string
  unsubscribeDetectedAt?: string
  billingIssueDetectedAt?: string
  refundedAt?: string
  /** When a pause ends. */
  autoResumeAt?: string
}

/** How much a plan allows. */
export type PlanLimits = {
  seatLimit: number
  appLimit: number
  keywordLimit: number
  apiRequestLimit: number
  competitorLimitPerApp: number
  aiMonthlyCreditLimit: number
  storefrontLimit: number
}

/** A pricing plan in one language. */
export type PricingPlan = PlanLimits & {
  _id: string
  /** Identifies the plan; it never changes. */
  code: string
  name: string
  type: string
  /** What one payment lasts, such as `month`. */
  duration: string
  source: string
  /** The product at the store or the billing provider; empty for none. */
  paymentProductId: string
  paymentPriceId: string
  /** More products that this plan is bought by. */
  otherProductIds?: string[]
  trialDays: number
  /** What the plan unlocks. */
  capabilities: string[]
  /** In `currency`. */
  price: number
  /** ISO 4217. */
  currency: string
  isEnterprise: boolean
  description: string
  badge: string
  highlighted: boolean
  /** What is in it, line by line. */
  features: string[]
}

/** The versions of the app on one platform. */
export type AppVersions = {
  latestVersion: string
  latestBuildNumber: number
  /** An app below this must be updated. */
  supportedVersion: string
  supportedBuildNumber: number
}

/** What every copy of the app should know. */
export type AppSettings = {
  supportEmail: string
  playStoreLink: string
  appStoreLink: string
  termsUrl: string
  privacyUrl: string
  ios: AppVersions
  android: AppVersions
  underMaintenance: boolean
  hardPaywall: boolean
  /** Settings of this app alone, as they are for this device and person; missing where there are none. */
  features?: Record<string, boolean | number | string>
}

/** What currencies cost. */
export type CurrencyRates = {
  /** ISO 4217, upper case. */
  baseCode: string
  /** Units of each currency for one of the base, which is in it as 1. */
  rates: Record<string, number>
  /** When the provider published them, ISO 8601. */
  updatedAt: string
}

/** How often each kind of content was edited: read it again when its number has grown. */
export type ContentVersions = { appSetting: number; faqs: number }

/** A question with its answer, in one language. */
export type Faq = { _id: string; question: string; answer: string; category: string }
