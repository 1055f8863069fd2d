import type { AppSettings, ContentVersions, CurrencyRates, Faq, PricingPlan } from './models.ts'
import type { CallOptions, LanguageInput } from './shared-types.ts'

/** Public data, which the app can read without a session. */
export type AppFunctions = {
  /** Returns the app's settings; see `isUpdateRequired`. */
  readAppSettings: (options?: CallOptions) => Promise<AppSettings>
  /** Returns the pricing plans on sale. */
  readPricingPlans: (language?: LanguageInput, options?: CallOptions) => Promise<PricingPlan[]>
  /** Returns the exchange rates; see `findRate`. */
  readCurrencyRates: (options?: CallOptions) => Promise<CurrencyRates>
  /** Returns the version counter of each kind of content. */
  readContentVersions: (options?: CallOptions) => Promise<ContentVersions>
  /** Returns the frequently asked questions. */
  readFaqs: (language?: LanguageInput, options?: CallOptions) => Promise<Faq[]>
}
