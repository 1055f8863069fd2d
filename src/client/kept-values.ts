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

/** The responses that the device keeps for offline use. */
export type KeptValues = {
  subscription: Subscription
  profile: UserProfile
  settings: AppSettings
  plans: PricingPlan[]
  rates: CurrencyRates
  faqs: Faq[]
}

export type KeptName = keyof KeptValues

/** A response, or the kept copy of the last one. */
export type Kept<T> = {
  data: T
  /** Whether the server has not confirmed it since the call. */
  isStale: boolean
  /** When the server sent it. */
  asOf: Date
  /** Resolves with the server's response. Throws like the function that reads the value, such as `readSubscription`. */
  refreshed: Promise<Kept<T>>
}

/** A value from the server; `refreshed` is the value itself. */
export function confirmed<T>(data: T, asOf: Date = new Date()): Kept<T> {
  const reply = { data, isStale: false, asOf } as Kept<T>
  return Object.assign(reply, { refreshed: Promise.resolve(reply) })
}

/** Reads the kept responses. */
export type KeptFunctions = {
  /**
   * Returns the kept response immediately if there is one, and refreshes it; otherwise waits for the server. A kept
   * subscription gives access until it ends; setting the device's clock back does not prolong it.
   */
  readKept: <Name extends KeptName>(
    name: Name,
    language?: LanguageInput,
    options?: CallOptions,
  ) => Promise<Kept<KeptValues[Name]>>
}

/** The route of each value. */
export const KEPT_NAMES = new Map<string, KeptName>([
  ['/api/user/subscription/v1', 'subscription'],
  ['/api/user/profile/v1', 'profile'],
  ['/api/user/app_settings/v1', 'settings'],
  ['/api/user/pricing_plans/v1', 'plans'],
  ['/api/user/currency_rates/v1', 'rates'],
  ['/api/user/faqs/v1', 'faqs'],
])

export const KEPT_KEY = 'homeport.kept'

/** Removes another user's kept values. If the storage fails they stay, but no other user sees them. */
export async function forgetKept(storage: Storage, userId: string | null) {
  const isOwn = async () => (await storage.getItem(KEPT_KEY))?.includes(`"userId":"${userId}"`)
  try {
    if (userId === null || !(await isOwn())) await storage.removeItem(KEPT_KEY)
  } catch {
    // The values name their user, so no other user sees them.
  }
}
