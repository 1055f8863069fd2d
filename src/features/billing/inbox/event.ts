import { sha256 } from '../../../lib/crypto/hash.ts'
import { isId } from '../../../lib/ids.ts'
import { toAlpha2 } from '../../../lib/text/country-codes.ts'
import { isObject, type Json } from '../../../lib/text/json.ts'
import { isStorableText } from '../../../lib/validation.ts'
import type { StoredEnvironment } from '../environment.ts'
import { none } from '../none.ts'
import { type Attribution, readAttribution } from './attribution.ts'
import { type EventProblem, findProblem, MAX_LIST_LENGTH } from './event-problem.ts'

/** `amount` is in thousandths of the currency: no currency has a smaller unit. */
export type Money = { currency: string; amount: number }

/** The fields of an event that the log and the fold use; the rest stays in the raw body. */
export const NO_EVENT = {
  id: '',
  type: '',
  /** When the provider generated the event, in ms; null if missing or invalid. */
  at: none<number>(),
  environment: 'PRODUCTION' as StoredEnvironment,
  appUserId: none<string>(),
  originalAppUserId: none<string>(),
  aliases: [] as string[],
  transferredFrom: [] as string[],
  transferredTo: [] as string[],
  redeemedFrom: [] as string[],
  redeemedBy: [] as string[],
  redemptionOutcome: none<string>(),
  store: none<string>(),
  productId: none<string>(),
  newProductId: none<string>(),
  priceId: none<string>(),
  quantity: none<number>(),
  entitlementIds: [] as string[],
  periodType: none<string>(),
  purchasedAt: none<number>(),
  expiresAt: none<number>(),
  graceExpiresAt: none<number>(),
  autoResumeAt: none<number>(),
  transactionId: none<string>(),
  originalTransactionId: none<string>(),
  cancelReason: none<string>(),
  expirationReason: none<string>(),
  price: none<number>(),
  /** Whether a price in the event is negative, as in a refund. */
  isPaidBack: false,
  /** The amount paid or, in a refund, paid back; null if the sender does not state it. */
  paid: none<Money>(),
  /** The refunded part of `paid`, if the refund is partial; only in events from stores. */
  paidBack: none<Money>(),
  /** The country of the customer's store account, as two letters. */
  country: none<string>(),
  isFamilyShared: false,
  /** Whether the event names its environment; without one it counts as production. */
  hasEnvironment: false,
  /** This and the following fields are only in HOMEPORT_RECONCILED, as reported by the provider's REST API. */
  unsubscribedAt: none<number>(),
  billingIssueAt: none<number>(),
  refundedAt: none<number>(),
  /** What a store's event describes: the whole purchase, or only the current period. Null: only a change. */
  stated: none<'full' | 'partial'>(),
  /** `appUserId` is what the app passed to the store; a later owner may have claimed the purchase. */
  isSuggestedOwner: false,
  startedAt: none<number>(),
  willRenew: none<boolean>(),
  endedAt: none<number>(),
  /** Only in Homeport's own events: who linked a purchase or granted access, and why. */
  support: none<Attribution>(),
  /** Only in HOMEPORT_CLAIM_WITHDRAWN: the id of the event that no longer counts. */
  withdrawnClaim: none<string>(),
  /** Why the event has no effect; null if it can be applied. */
  problem: none<EventProblem>(),
}

export type BillingEvent = typeof NO_EVENT

const MAX_TEXT_LENGTH = 255
/** The latest time that a `Date` can represent. */
const MAX_DATE_MS = 8.64e15
/** In any currency; the sum of millions of such prices is still an exact integer. */
const MAX_PRICE = 1_000_000_000

/** The senders of the events in the log. Homeport's own events are in the billing provider's format. */
export const PROVIDERS = ['revenuecat', 'app_store', 'play_store', 'stripe'] as const

export type Delivery = {
  provider: (typeof PROVIDERS)[number]
  event: BillingEvent
  bytes: Uint8Array
  /** The data that a store has signed, as received. */
  signed?: string
  /** SHA-256, hex, of the content that is the same in every delivery of the event. */
  hash: string
}

/** Null if the body has no event. */
export function readDelivery(body: unknown, bytes: Uint8Array): Delivery | null {
  const event = readEvent(body, bytes)
  return event && { provider: 'revenuecat', event, bytes, hash: sha256(bytes, 'hex') }
}

/** Null unless there is an `event` object with a `type`. Without an `id`, the id is the `event_id`, else a hash. */
export function readEvent(body: unknown, bytes: Uint8Array): BillingEvent | null {
  const event = isObject(body) ? body['event'] : null
  if (!isObject(event)) return null
  const type = shortText(event['type'])
  if (type === null) return null
  const id = shortText(event['id']) ?? shortText(event['event_id'])
  const read = {
    ...NO_EVENT,
    id: id ?? `sha256:${sha256(bytes, 'hex')}`,
    type,
    ...readFields(event),
  }
  return { ...read, problem: findProblem(read, event) }
}

function readFields(event: Json) {
  const text = (name: string) => shortText(event[name])
  const environment = text('environment') ?? text('purchase_environment')
  const entitlements = list(event['entitlement_ids'])
  const single = text('entitlement_id')
  return {
    at: readTime(event['event_timestamp_ms']),
    environment:
      environment?.toUpperCase() === 'SANDBOX' ? ('SANDBOX' as const) : ('PRODUCTION' as const),
    hasEnvironment: environment !== null,
    appUserId: readAppUserId(event['app_user_id']),
    originalAppUserId: readAppUserId(event['original_app_user_id']),
    aliases: list(event['aliases'], readAppUserId),
    transferredFrom: list(event['transferred_from'], readAppUserId).filter(isRealId),
    transferredTo: list(event['transferred_to'], readAppUserId).filter(isRealId),
    redeemedFrom: list(event['redeemed_from'], readAppUserId),
    redeemedBy: list(event['redeemed_by'], readAppUserId),
    redemptionOutcome: text('redemption_outcome'),
    store: text('store'),
    productId: text('product_id'),
    newProductId: text('new_product_id'),
    priceId: text('price_id'),
    entitlementIds: entitlements.length === 0 && single !== null ? [single] : entitlements,
    periodType: text('period_type'),
    purchasedAt: readTime(event['purchased_at_ms']),
    expiresAt: readTime(event['expiration_at_ms']),
    graceExpiresAt: readTime(event['grace_period_expiration_at_ms']),
    autoResumeAt: readTime(event['auto_resume_at_ms']),
    transactionId: readId(event['transaction_id']),
    originalTransactionId: readId(event['original_transaction_id']),
    cancelReason: text('cancel_reason'),
    expirationReason: text('expiration_reason'),
    unsubscribedAt: readTime(event['unsubscribe_detected_at_ms']),
    billingIssueAt: readTime(event['billing_issues_detected_at_ms']),
    refundedAt: readTime(event['refunded_at_ms']),
    price: typeof event['price'] === 'number' ? event['price'] : null,
    isPaidBack: isNegative(event['price']) || isNegative(event['price_in_purchased_currency']),
    paid:
      money(event['currency'], event['price_in_purchased_currency']) ??
      money('USD', event['price']),
    country: countryCode(event['country_code']),
    isFamilyShared: event['is_family_share'] === true,
    support: readAttribution(event['support']),
    withdrawnClaim: text('withdrawn_claim'),
  }
}

function shortText(value: unknown): string | null {
  if (typeof value !== 'string' || value === '' || value.length > MAX_TEXT_LENGTH) return null
  return isStorableText(value) ? value : null
}

/** Reads an id, which may be a number. */
function readId(value: unknown): string | null {
  return shortText(Number.isSafeInteger(value) ? String(value) : value)
}

/** Apps may pass Homeport's own ids in upper case, as iOS writes them. Other ids stay as they are. */
export function readAppUserId(value: unknown): string | null {
  const id = readId(value)
  const lowerCase = id?.toLowerCase() ?? ''
  return isId(lowerCase) ? lowerCase : id
}

/** Ids that apps send when no user is signed in: they would join unrelated users into one customer. */
const PLACEHOLDER_IDS = new Set(
  'no_user null none nil (null) nan unidentified undefined unknown anonymous guest -1 0 [] {}'.split(
    ' ',
  ),
)

export function isRealId(id: string | null): id is string {
  if (id === null || id === '[object Object]') return false
  return !PLACEHOLDER_IDS.has(id.toLowerCase()) && id.trim() !== ''
}

function isNegative(value: unknown): boolean {
  return typeof value === 'number' && value < 0
}

/** `value` in units of the currency. */
export function money(currency: unknown, value: unknown): Money | null {
  const isMoney = typeof value === 'number' && Math.abs(value) < MAX_PRICE
  if (!isMoney || typeof currency !== 'string' || !/^[A-Z]{3}$/.test(currency)) return null
  return { currency, amount: Math.round(value * 1000) }
}

/** Reads two or three letters. */
export function countryCode(value: unknown): string | null {
  if (typeof value !== 'string' || !/^[A-Z]{2,3}$/.test(value)) return null
  return value.length === 2 ? value : toAlpha2(value)
}

function list(value: unknown, read = shortText): string[] {
  if (!Array.isArray(value)) return []
  return value.slice(0, MAX_LIST_LENGTH).flatMap((item) => read(item) ?? [])
}

/** A time in ms since 1970, without its fraction; it may also be given as text, in ms or in ISO 8601. */
export function readTime(value: unknown): number | null {
  const text = typeof value === 'string' ? value.trim() : ''
  const ms = /^\d{4}-\d\d-\d\dT/.test(text)
    ? Date.parse(text)
    : /^\d+(\.\d+)?$/.test(text)
      ? Number(text)
      : value
  const isTime = typeof ms === 'number' && ms >= 0 && ms <= MAX_DATE_MS
  return isTime ? Math.floor(ms) : null
}
