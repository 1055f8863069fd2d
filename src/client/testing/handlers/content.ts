import type { AppSettings, CurrencyRates, Faq, PlanLimits, PricingPlan } from '../../models.ts'
import { failure } from '../failure.ts'
import type { HandlersFor } from '../operations.ts'
import type { State } from '../state.ts'

/** The public data of the fake server. What is missing has the values of a new real server. */
export type Content = {
  /** Also within `ios`, `android` and `features`, missing fields keep their values. */
  settings?: { [Name in keyof AppSettings]?: Partial<AppSettings[Name]> }
  /** Plans by their codes; by default `free` and `pro`. */
  plans?: (Partial<PricingPlan> & { code: string })[]
  /** Questions and answers; by default none. */
  faqs?: (Partial<Faq> & Pick<Faq, 'question' | 'answer'>)[]
  /** Null: the server has no rates yet, which apps see as `unavailable`. */
  rates?: Partial<CurrencyRates> | null
}

type Operation =
  | 'readAppSettings'
  | 'readPricingPlans'
  | 'readCurrencyRates'
  | 'readContentVersions'
  | 'readFaqs'

const VERSIONS = {
  latestVersion: '1.0.0',
  latestBuildNumber: 1,
  supportedVersion: '1.0.0',
  supportedBuildNumber: 1,
}
const SETTINGS: AppSettings = {
  supportEmail: 'support@example.com',
  playStoreLink: 'https://play.google.com/store/apps/details?id=com.example.app',
  appStoreLink: 'https://apps.apple.com/app/id000000000',
  termsUrl: 'https://example.com/terms',
  privacyUrl: 'https://example.com/privacy',
  ios: VERSIONS,
  android: VERSIONS,
  underMaintenance: false,
  hardPaywall: false,
}
const LIMITS: PlanLimits = {
  seatLimit: 1,
  appLimit: 1,
  keywordLimit: 10,
  apiRequestLimit: 0,
  competitorLimitPerApp: 1,
  aiMonthlyCreditLimit: 0,
  storefrontLimit: 1,
}
/** The names of the limits that every plan has. */
export const LIMIT_NAMES = Object.keys(LIMITS) as (keyof PlanLimits)[]

const PLANS: NonNullable<Content['plans']> = [
  { code: 'free', name: 'Free' },
  {
    code: 'pro',
    name: 'Pro',
    source: 'revenuecat',
    paymentProductId: 'pro_month',
    trialDays: 7,
    price: 9.99,
    highlighted: true,
    aiMonthlyCreditLimit: 100,
  },
]

function mergeSettings(before: AppSettings, changes: Content['settings']): AppSettings {
  const merged = { ...before, ...changes } as AppSettings
  for (const name of ['ios', 'android', 'features'] as const)
    if (changes?.[name]) Object.assign(merged, { [name]: { ...before[name], ...changes[name] } })
  return merged
}

/** Settings, plans, questions and rates. */
export function createContent({ newId, recordChange, clock }: State, seed: Content) {
  const versions = { appSetting: 1, faqs: 1 }
  let settings = mergeSettings(SETTINGS, seed.settings)
  let plans = (seed.plans ?? PLANS).map(planOf)
  let faqs = (seed.faqs ?? []).map(faqOf)
  let rates = ratesOf(seed.rates === undefined ? {} : seed.rates)
  const handlers: HandlersFor<Operation> = {
    readAppSettings: () => settings,
    readPricingPlans: () => plans,
    readContentVersions: () => versions,
    readFaqs: () => faqs,
    readCurrencyRates() {
      if (rates) return rates
      throw failure('unavailable', 'There are no currency rates yet. Try again later.')
    },
  }
  return { handlers, readPlans: (): PricingPlan[] => plans, change }

  /** Publishes other content; what is missing stays. */
  function change(content: Content) {
    if (content.settings) {
      settings = mergeSettings(settings, content.settings)
      versions.appSetting++
      recordChange(null, 'settings')
    }
    if (content.plans) plans = content.plans.map(planOf)
    if (content.rates !== undefined) rates = ratesOf(content.rates)
    if (!content.faqs) return
    faqs = content.faqs.map(faqOf)
    versions.faqs++
  }

  function faqOf(faq: NonNullable<Content['faqs']>[number]): Faq {
    return { _id: newId(), category: '', ...faq }
  }

  function ratesOf(wanted: Partial<CurrencyRates> | null): CurrencyRates | null {
    if (wanted === null) return null
    const updatedAt = new Date(clock.now).toISOString()
    return { baseCode: 'USD', rates: { USD: 1, EUR: 0.9 }, updatedAt, ...wanted }
  }

  function planOf(wanted: NonNullable<Content['plans']>[number]): PricingPlan {
    const plan = {
      _id: newId(),
      name: wanted.code,
      type: 'subscription',
      duration: 'month',
      source: 'none',
      paymentProductId: '',
      paymentPriceId: '',
      trialDays: 0,
      capabilities: [],
      price: 0,
      currency: 'usd',
      isEnterprise: false,
      description: '',
      badge: '',
      highlighted: false,
      features: [],
      ...LIMITS,
      ...wanted,
    }
    const standard = LIMIT_NAMES.map((name) => [name, plan[name]])
    return { ...plan, limits: { ...Object.fromEntries(standard), ...wanted.limits } }
  }
}
