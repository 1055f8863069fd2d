import type { CallOptions, LanguageInput } from './shared-types.ts'

/** The limits of a plan. */
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
  /** Identifies the plan; never changes. */
  code: string
  name: string
  type: string
  /** The billing period, such as `month`. */
  duration: string
  source: string
  /** The product's id at the store or the billing provider; empty if there is none. */
  paymentProductId: string
  paymentPriceId: string
  /** Other store products for this plan. */
  otherProductIds?: string[]
  /** The entitlements that a store purchase of this plan grants; if absent, the plan's code. */
  entitlementIds?: string[]
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
  /** What the plan includes, line by line. */
  features: string[]
  /** Every limit of the plan by name; null: unlimited. */
  limits: { [name: string]: number | null }
  /** The periods of the custom limits: `month`, `day`, `total` …; `month` if absent. */
  limitPeriods?: { [name: string]: string }
}

/** The versions of the app on one platform. */
export type AppVersions = {
  latestVersion: string
  latestBuildNumber: number
  /** Apps with an older version or build must be updated. */
  supportedVersion: string
  supportedBuildNumber: number
}

/** The app's settings, evaluated for this device and user. */
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
  /** The app's custom settings; absent if there are none. */
  features?: Record<string, boolean | number | string>
}

/** Exchange rates. */
export type CurrencyRates = {
  /** ISO 4217, upper case. */
  baseCode: string
  /** Units of each currency per unit of the base currency, which is included as 1. */
  rates: Record<string, number>
  /** When the provider published them, ISO 8601. */
  updatedAt: string
}

/** A version counter per kind of content: read the content again when its counter increases. */
export type ContentVersions = { appSetting: number; faqs: number }

/** A question with its answer, in one language. */
export type Faq = { _id: string; question: string; answer: string; category: string }

/** Public data, which the app can read without a session. */
export type AppFunctions = {
  /** Returns the app's settings; see `isUpdateRequired`. */
  readAppSettings: (options?: CallOptions) => Promise<AppSettings>
  /** Returns the pricing plans on sale. */
  readPricingPlans: (language?: LanguageInput, options?: CallOptions) => Promise<PricingPlan[]>
  /** Returns the exchange rates. */
  readCurrencyRates: (options?: CallOptions) => Promise<CurrencyRates>
  /** Returns the version counter of each kind of content. */
  readContentVersions: (options?: CallOptions) => Promise<ContentVersions>
  /** Returns the frequently asked questions. */
  readFaqs: (language?: LanguageInput, options?: CallOptions) => Promise<Faq[]>
}
