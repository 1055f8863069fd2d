/** The tokens of a device, and whose they are. The client keeps them: an app needs only `user`. */
export type Session = {
  /** JWT for `Authorization: Bearer`; it lives 15 minutes. */
  accessToken: string
  /** Opaque; replaced at every use. */
  refreshToken: string
  tokenType: string
  /** Seconds until the access token expires. */
  expiresIn: number
  user: UserProfile
}

/** The password was right, and a code is needed: pass it with `passTwoFactor`. */
export type TwoFactorChallenge = {
  challengeToken: string
  /** `totp` and `recovery_code`; later servers may know others. */
  methods: string[]
  /** Seconds until it must be passed. */
  expiresIn: number
}

/** A session, or a challenge where two-factor is on: `'challengeToken' in result` tells. */
export type SignInResult = Session | TwoFactorChallenge

/** A person. Give `_id` to the billing SDK as the app user id. */
export type UserProfile = {
  _id: string
  /** `email`, `google`, `apple` or `guest`; later servers may know others. */
  loginType: string
  /** As typed; empty for a guest. */
  email: string
  /** Whether the person was shown to read mail at the address. */
  emailVerified: boolean
  profile: {
    /** Empty until it is set. */
    name: string
    /** BCP 47, such as `pt-BR`. */
    locale: string
    /** IANA name in lower case, such as `europe/berlin`. */
    timezone: string
    /** ISO 4217 in lower case, such as `usd`. */
    currency: string
    /** The picture that shows the person; null for none. */
    avatarUrl: string | null
  }
  twoFactor: {
    enabled: boolean
    /** What the second step takes; none while it is off. */
    methods: string[]
    /** Recovery codes not used yet. */
    recoveryCodesLeft: number
  }
  /** Kept for the app. */
  onboardingCompleted: boolean
}

/** What to change: what is absent stays, null restores the start value (RFC 7396). */
export type ProfileChanges = {
  profile?: {
    /** At most 100 characters. */
    name?: string | null
    /** BCP 47. */
    locale?: string | null
    /** IANA name, in any case. */
    timezone?: string | null
    /** ISO 4217, in any case. */
    currency?: string | null
    /** The key of an own `publicAsset`; null for no picture. */
    avatarKey?: string | null
  } | null
  onboardingCompleted?: boolean | null
}

/** A signed-in device. */
export type Device = {
  _id: string
  /** What the device calls itself. */
  device: string
  /** ISO 8601. */
  createdAt: string
  /** ISO 8601. */
  lastUsedAt: string
  /** Whether it is this one. */
  current: boolean
}

/** A secret for an authenticator app, in three forms. It counts once it is confirmed. */
export type TwoFactorSetup = {
  /** Base32, to be typed. */
  secret: string
  /** A link that authenticator apps open. */
  otpauthUrl: string
  /** A QR code as SVG. */
  qrSvg: string
}

/** Ten codes that work once each. They are not shown again. */
export type RecoveryCodes = { recoveryCodes: string[] }

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

/** A sentence for people. */
export type Message = { message: string }
