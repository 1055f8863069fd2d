import { fetchBounded, readTextCapped } from '../../../lib/net/bounded-fetch.ts'
import type { StoredEnvironment } from '../environment.ts'
import { readTime } from '../inbox/event.ts'

export type ReportedSubscription = ReturnType<typeof readSubscription>

export type ReadSubscriber = (
  appUserId: string,
  signal: AbortSignal,
) => Promise<{ at: number; subscriptions: ReportedSubscription[] } | Failure>

/** `isGeneral`: requests about other customers would fail too. */
type Failure = { failed: string; isGeneral: boolean }

type Json = Record<string, unknown>

const TIMEOUT_MS = 10_000
const MAX_BODY_BYTES = 1024 * 1024
/** The key is refused, or there were too many requests. */
const GENERAL_STATUSES = [401, 403, 429]

/**
 * The API creates a customer for an unknown id, so call it with known ids only.
 * https://www.revenuecat.com/docs/api-v1#tag/customers
 */
export function createSubscriberApi(url: string, apiKey: string): ReadSubscriber {
  return async (appUserId, signal) => {
    const options = {
      timeoutMs: TIMEOUT_MS,
      signal,
      headers: { authorization: `Bearer ${apiKey}`, accept: 'application/json' },
    }
    const path = `/v1/subscribers/${encodeURIComponent(appUserId)}`
    let body: string | null
    try {
      const response = await fetchBounded(url + path, options)
      if (!response.ok) {
        await response.body?.cancel()
        const { status } = response
        const isGeneral = status >= 500 || GENERAL_STATUSES.includes(status)
        return { failed: `the provider responded with ${status}`, isGeneral }
      }
      body = await readTextCapped(response, MAX_BODY_BYTES)
    } catch {
      return { failed: 'the provider is unreachable', isGeneral: true }
    }
    if (body === null) return { failed: 'the response is too long', isGeneral: false }
    try {
      return readReport(JSON.parse(body))
    } catch {
      return { failed: 'the response is invalid', isGeneral: false }
    }
  }
}

function readReport(body: Json) {
  const subscriber = (body['subscriber'] ?? {}) as Json
  const entitlements = Object.entries((subscriber['entitlements'] ?? {}) as Record<string, Json>)
  const entitlementsFor = (productId: string) =>
    entitlements
      .filter(([, { product_identifier: product }]) => product === productId)
      .map(([id]) => id)
  const subscriptions = Object.entries((subscriber['subscriptions'] ?? {}) as Record<string, Json>)
  return {
    at: typeof body['request_date_ms'] === 'number' ? body['request_date_ms'] : Date.now(),
    subscriptions: subscriptions.map(([productId, fields]) =>
      readSubscription(productId, fields, entitlementsFor(productId)),
    ),
  }
}

function readSubscription(productId: string, fields: Json, entitlementIds: string[]) {
  const plan = fields['product_plan_identifier']
  const transactionId = fields['store_transaction_id']
  const environment: StoredEnvironment = fields['is_sandbox'] === true ? 'SANDBOX' : 'PRODUCTION'
  return {
    productId: typeof plan === 'string' ? `${productId}:${plan}` : productId,
    transactionId: transactionId ? String(transactionId) : null,
    store: String(fields['store'] ?? '').toUpperCase(),
    environment,
    entitlementIds,
    periodType: String(fields['period_type'] ?? 'normal').toUpperCase(),
    purchasedAt: readTime(fields['purchase_date']),
    /** Null if it cannot be read. */
    expiresAt: readTime(fields['expires_date']),
    graceExpiresAt: readTime(fields['grace_period_expires_date']),
    unsubscribedAt: readTime(fields['unsubscribe_detected_at']),
    billingIssueAt: readTime(fields['billing_issues_detected_at']),
    refundedAt: readTime(fields['refunded_at']),
    autoResumeAt: readTime(fields['auto_resume_date']),
  }
}
