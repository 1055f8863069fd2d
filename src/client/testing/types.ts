import type { ErrorCode } from '../../lib/errors.ts'
import type { ErrorDetail } from '../api-error.ts'
import type { AppSettings, CurrencyRates, Faq, PricingPlan } from '../models.ts'

/** The public data of the fake server. Missing fields have the values of a new real server. */
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

export type FakeServerOptions = Content & {
  /** The URL of the fake server; `https://fake.homeport.test` by default. */
  url?: string
  /** The initial time of the virtual clock; the real time by default. */
  now?: Date | string | number
}

/** A user to add. */
export type FakeUser = {
  email?: string
  /** Without one, the user signs in by e-mail code or socially. */
  password?: string
  name?: string
  /** True by default. */
  emailVerified?: boolean
  /** Whether two-factor is on; its code is `twoFactorCode`. */
  twoFactor?: boolean
}

/** Identifies a user: the id, the address, or a user that a function has returned. */
export type UserReference = string | { _id: string }

/** The identity in an id token of Google or Apple. */
export type FakeIdentity = {
  provider: 'google' | 'apple' | 'oidc'
  /** The id of the user at the provider; by default, derived from the address. */
  subject?: string
  email?: string
  /** Whether the provider has verified the address; true by default. */
  emailVerified?: boolean
  name?: string
}

/** The states of a purchase that `grantSubscription` can set. */
export type SubscriptionState =
  | 'active'
  | 'trial'
  | 'grace_period'
  | 'billing_retry'
  | 'cancelled'
  | 'paused'
  | 'expired'
  | 'refunded'
  | 'lifetime'

/** A purchase to grant. */
export type SubscriptionGrant = {
  /** The id of the entitlement; `pro` by default. */
  entitlement?: string
  /** `active` by default: access until `expiresAt`. It does not renew: grant it again. */
  state?: SubscriptionState
  /** When the period ends (or ended, for `expired`); 30 days from now by default. Never for `lifetime`. */
  expiresAt?: Date | string | number
  /** By default, the product of the plan whose code is the entitlement; without such a plan, the entitlement. */
  productId?: string
  /** `APP_STORE` by default. */
  store?: string
  environment?: 'production' | 'sandbox'
}

/** An e-mail that the server has sent. */
export type Mail = {
  to: string
  /** `verify-email`, `reset-password`, `email-code` … */
  kind: string
  /** The six digits to type in, if it contains any. */
  code?: string
  /** The `token` of the link, if it contains one. */
  token?: string
}

/** How far to move the clock. */
export type Duration = Partial<Record<'days' | 'hours' | 'minutes' | 'seconds' | 'ms', number>>

/** How requests fail. */
export type Fault = {
  /**
   * A server's error code, or one that the client detects, such as `timeout` (no reply in time) or `reply_invalid` (a
   * captive portal). Without a code, the request succeeds after the `delay`.
   */
  code?: ErrorCode | 'network_error' | 'timeout' | 'reply_invalid'
  message?: string
  /** The HTTP status; the code's own by default. */
  status?: number
  details?: ErrorDetail[]
  /** Seconds, for `Retry-After`. */
  retryAfter?: number
  /** How many requests fail; 1 by default. The client tries reads three times after `network_error` and `unavailable`. */
  times?: number
  /** Whether the server executes the request, and only the reply is lost or wrong. */
  tookEffect?: boolean
  /** Milliseconds of real time before the reply. */
  delay?: number
}

/** A request that the app has sent, for assertions. */
export type SentRequest = {
  /** The name of the client's function, such as `readProfile`. */
  operation: string
  method: string
  path: string
  query: Record<string, string>
  headers: Record<string, string>
  /** The JSON of the body; null if there is none. */
  body: unknown
  /** The files of an upload. */
  files: { name: string; type: string; size: number }[]
}
