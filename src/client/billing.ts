import type { Subscription } from './models.ts'
import type { CallOptions, LanguageInput } from './shared-types.ts'

/** The signed-in user's purchases. */
export type BillingFunctions = {
  /** Returns the user's purchases and entitlements. For access, check `entitlements`: `entitlements.some(({ id, active }) => id === 'pro' && active)`. */
  readSubscription: (
    view?: {
      environment?: 'production' | 'sandbox' | undefined
      proof?: boolean | undefined
    } & LanguageInput,
    options?: CallOptions,
  ) => Promise<Subscription>
}
