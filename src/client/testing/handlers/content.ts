import settingsOfNewServer from '../../../../data/seed/settings.json' with { type: 'json' }
import { AppError } from '../../../lib/errors.ts'
import { limitsByName } from '../../../lib/time/plan-limits.ts'
import type { AppSettings, CurrencyRates, Faq, PricingPlan } from '../../models.ts'
import type { Handlers } from '../handler-types.ts'
import type { State } from '../state.ts'
import type { Content } from '../types.ts'

type PlanInput = NonNullable<Content['plans']>[number]
type FaqInput = NonNullable<Content['faqs']>[number]

const PLANS: PlanInput[] = [
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
const PLAN: Omit<PricingPlan, '_id' | 'code' | 'name' | 'limits'> = {
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
  seatLimit: 1,
  appLimit: 1,
  keywordLimit: 10,
  apiRequestLimit: 0,
  competitorLimitPerApp: 1,
  aiMonthlyCreditLimit: 0,
  storefrontLimit: 1,
}

export function createContent({ newId, recordChange, clock }: State, seed: Content) {
  const versions = { appSetting: 1, faqs: 1 }
  let settings = mergeSettings(settingsOfNewServer, seed.settings)
  let plans = (seed.plans ?? PLANS).map(toPlan)
  let faqs = (seed.faqs ?? []).map(toFaq)
  let rates = toRates(seed.rates === undefined ? {} : seed.rates)
  const handlers = {
    readAppSettings: () => settings,
    readPricingPlans: () => plans,
    readContentVersions: () => versions,
    readFaqs: () => faqs,
    readCurrencyRates() {
      if (rates) return rates
      throw new AppError('unavailable', 'There are no currency rates yet. Try again later.')
    },
  } satisfies Partial<Handlers>
  return { handlers, readPlans: () => plans, change }

  /** Publishes content; absent kinds stay as they are. */
  function change(content: Content) {
    if (content.settings) {
      settings = mergeSettings(settings, content.settings)
      versions.appSetting++
      recordChange(null, 'settings')
    }
    if (content.plans) plans = content.plans.map(toPlan)
    if (content.rates !== undefined) rates = toRates(content.rates)
    if (!content.faqs) return
    faqs = content.faqs.map(toFaq)
    versions.faqs++
  }

  function toFaq(faq: FaqInput): Faq {
    return { _id: newId(), category: '', ...faq }
  }

  function toRates(rates: Content['rates']): CurrencyRates | null {
    if (!rates) return null
    const updatedAt = new Date(clock.now).toISOString()
    return { baseCode: 'USD', rates: { USD: 1, EUR: 0.9 }, updatedAt, ...rates }
  }

  function toPlan(input: PlanInput): PricingPlan {
    const plan = { _id: newId(), name: input.code, ...PLAN, ...input }
    return { ...plan, limits: limitsByName(plan) }
  }
}

function mergeSettings(before: AppSettings, changes: Content['settings']): AppSettings {
  const merged = { ...before, ...changes } as AppSettings
  for (const name of ['ios', 'android', 'features'] as const)
    if (changes?.[name]) Object.assign(merged, { [name]: { ...before[name], ...changes[name] } })
  return merged
}
