import { sha256 } from '../../lib/crypto.ts'

/** What the log needs to know of an event; everything else stays in the raw body. */
export type BillingEvent = {
  id: string
  type: string
  /** When the provider made it; null when that is missing or no time. */
  at: Date | null
  environment: string | null
  appUserId: string | null
}

const ID_LIMIT = 255
/** The greatest time that a `Date` can hold, in ms. */
const LAST_MS = 8.64e15

/** Types that may touch access. Every other (tests, telemetry, unknown ones) is kept and has no effect. */
const WITH_EFFECT = new Set([
  'INITIAL_PURCHASE',
  'RENEWAL',
  'CANCELLATION',
  'UNCANCELLATION',
  'NON_RENEWING_PURCHASE',
  'SUBSCRIPTION_PAUSED',
  'EXPIRATION',
  'BILLING_ISSUE',
  'PRODUCT_CHANGE',
  'SUBSCRIPTION_EXTENDED',
  'TRANSFER',
  'TEMPORARY_ENTITLEMENT_GRANT',
  'REFUND_REVERSED',
  'PURCHASE_REDEEMED',
  'SUBSCRIBER_ALIAS',
  'REFUND',
])

/**
 * Reads a webhook body tolerantly: all it must have is an `event` object with a `type`. Null when it
 * has not. Without an `id` the event is known by its `event_id`, else by the hash of its bytes.
 */
export function readEvent(body: unknown, bytes: Uint8Array): BillingEvent | null {
  const event = isObject(body) ? body['event'] : null
  if (!isObject(event)) return null
  const type = shortText(event['type'])
  if (type === null) return null
  return {
    id: shortText(event['id']) ?? shortText(event['event_id']) ?? `sha256:${sha256(bytes, 'hex')}`,
    type,
    at: time(event['event_timestamp_ms']),
    environment: shortText(event['environment'] ?? event['purchase_environment']),
    appUserId: shortText(event['app_user_id']),
  }
}

export function hasEffect({ type }: Pick<BillingEvent, 'type'>): boolean {
  return WITH_EFFECT.has(type)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}

function shortText(value: unknown): string | null {
  if (typeof value !== 'string' || value === '' || value.length > ID_LIMIT) return null
  return value.isWellFormed() ? value : null
}

function time(value: unknown): Date | null {
  const isTime = typeof value === 'number' && Number.isInteger(value) && value >= 0
  return isTime && value <= LAST_MS ? new Date(value) : null
}
