import type {
  AppSettings,
  CurrencyRates,
  Faq,
  PricingPlan,
  Subscription,
  UserProfile,
} from './models.ts'
import type { CallOptions, LanguageInput } from './shared-types.ts'
import type { Storage } from './storage.ts'

/** The responses that the device keeps for times without a connection. */
export type KeptValues = {
  subscription: Subscription
  profile: UserProfile
  settings: AppSettings
  plans: PricingPlan[]
  rates: CurrencyRates
  faqs: Faq[]
}

export type KeptName = keyof KeptValues

/** A response, or what the device has kept of the last one. */
export type Kept<T> = {
  data: T
  /** Whether the server has not confirmed it since the call. */
  isStale: boolean
  /** When the server sent it. */
  asOf: Date
  /** Resolves with the server's response. Throws like the function that reads the value, such as `readSubscription`. */
  refreshed: Promise<Kept<T>>
}

/** What the server has sent, which is its own refreshed value. */
export function confirmed<T>(data: T, asOf: Date = new Date()): Kept<T> {
  const reply = { data, isStale: false, asOf } as Kept<T>
  return Object.assign(reply, { refreshed: Promise.resolve(reply) })
}

/** What the device keeps. */
export type KeptFunctions = {
  /**
   * Returns the last response at once if the device has kept one, and reads it again; else waits for the server. What is kept
   * of a subscription gives access until it ends, judged by a clock that cannot be set back.
   */
  readKept: <Name extends KeptName>(
    name: Name,
    language?: LanguageInput,
    options?: CallOptions,
  ) => Promise<Kept<KeptValues[Name]>>
}

/** Where each value is read. */
export const KEPT_NAMES = new Map<string, KeptName>([
  ['/api/user/subscription/v1', 'subscription'],
  ['/api/user/profile/v1', 'profile'],
  ['/api/user/app_settings/v1', 'settings'],
  ['/api/user/pricing_plans/v1', 'plans'],
  ['/api/user/currency_rates/v1', 'rates'],
  ['/api/user/faqs/v1', 'faqs'],
])

export const KEPT_KEY = 'homeport.kept'

/** Removes what is kept for another user. If the storage fails it stays, but is shown to nobody else. */
export async function forgetKept(storage: Storage, userId: string | null) {
  const isOwn = async () => (await storage.getItem(KEPT_KEY))?.includes(`"userId":"${userId}"`)
  try {
    if (userId === null || !(await isOwn())) await storage.removeItem(KEPT_KEY)
  } catch {
    // It names its user, so it is not shown to another one.
  }
}
