import { and, asc, eq, gt } from 'drizzle-orm'
import { DAY_MS, HOUR_MS } from '../../../lib/durations.ts'
import type { Log } from '../../../lib/log.ts'
import type { Billing } from '../inbox/event-inbox.ts'
import { purchaseIn, type StoredPurchase } from '../projection/fold-state.ts'
import type { Purchase } from '../purchases/purchase.ts'
import type { BillingDb } from '../schema.ts'
import type { ReadSubscriber, ReportedSubscription } from './subscriber-api.ts'

type ReconcileDeps = {
  db: BillingDb
  readSubscriber: ReadSubscriber
  recordInternalEvent: Billing['recordInternalEvent']
  now: () => Date
  log: Log
}

export type Reconcile = ReturnType<typeof createReconcile>
type ReconcileReport = { customers: number; corrected: string[]; failed: string[] }
const PAGE_SIZE = 500
const MAX_CUSTOMERS_PER_RUN = 2_000

/**
 * Compares purchases with the provider's API, which knows of events that were never delivered. A difference is
 * recorded in the event log, so that the fold stays the only source of state.
 */
export function createReconcile({
  db,
  readSubscriber,
  recordInternalEvent,
  now,
  log,
}: ReconcileDeps) {
  const { subscriptions, billingAliases } = db.tables
  return { reconcileUser, reconcileOverdue }

  /** Does nothing for an id that no event has named: asking would create a customer at the provider. */
  async function reconcileUser(appUserId: string, signal: AbortSignal): Promise<ReconcileReport> {
    const [alias] = await db.read
      .select()
      .from(billingAliases)
      .where(eq(billingAliases.appUserId, appUserId))
    return reconcile(alias ? [{ customerId: alias.customerId, appUserId }] : [], signal)
  }

  /** Checks the customers whose purchases have ended without an event that says so. */
  async function reconcileOverdue(signal: AbortSignal): Promise<ReconcileReport> {
    const customers = new Set<string>()
    for (let after = ''; !signal.aborted && customers.size < MAX_CUSTOMERS_PER_RUN; ) {
      const rows = await db.read
        .select()
        .from(subscriptions)
        .where(
          and(gt(subscriptions.purchaseKey, after), eq(subscriptions.environment, 'PRODUCTION')),
        )
        .orderBy(asc(subscriptions.purchaseKey))
        .limit(PAGE_SIZE)
      if (rows.length === 0) break
      for (const { purchaseKey, customerId, state } of rows) {
        after = purchaseKey
        if (isOverdue(purchaseIn(state as StoredPurchase), now().getTime()))
          customers.add(customerId)
      }
    }
    const known = [...customers].map((customerId) => ({ customerId, appUserId: customerId }))
    return reconcile(known, signal)
  }

  async function reconcile(
    customers: { customerId: string; appUserId: string }[],
    signal: AbortSignal,
  ) {
    const report: ReconcileReport = { customers: customers.length, corrected: [], failed: [] }
    for (const { customerId, appUserId } of customers) {
      if (signal.aborted) break
      const answer = await readSubscriber(appUserId, signal)
      if ('failed' in answer) {
        log.warn({ reason: answer.failed }, 'a customer could not be reconciled')
        report.failed.push(appUserId)
        continue
      }
      const rows = await db.read
        .select()
        .from(subscriptions)
        .where(eq(subscriptions.customerId, customerId))
      for (const reported of answer.subscriptions) {
        const known = rows.find(({ state }) =>
          isSamePurchase(purchaseIn(state as StoredPurchase), reported),
        )
        if (known && agrees(purchaseIn(known.state as StoredPurchase), reported)) continue
        const transactionKey =
          known?.purchaseKey.slice(known.purchaseKey.indexOf('|') + 1) ?? reported.transactionId
        await recordInternalEvent(
          'HOMEPORT_RECONCILED',
          answer.at,
          eventOf(reported, appUserId, transactionKey),
        )
        report.corrected.push(`${appUserId} ${reported.productId}`)
      }
    }
    return report
  }
}

function isOverdue({ endedAt, expiresAt, graceExpiresAt }: Purchase, now: number): boolean {
  if (endedAt !== null || expiresAt === null) return false
  const end = Math.max(expiresAt, graceExpiresAt ?? 0)
  return end < now - HOUR_MS && end > now - 60 * DAY_MS
}

function isSamePurchase(
  purchase: Purchase,
  { productId, store, environment }: ReportedSubscription,
): boolean {
  return (
    purchase.productId === productId &&
    purchase.store === store &&
    purchase.environment === environment
  )
}

function agrees(purchase: Purchase, reported: ReportedSubscription): boolean {
  const isOver = purchase.endedAt !== null
  return (
    purchase.expiresAt === reported.expiresAt &&
    (purchase.refundedAt !== null) === (reported.refundedAt !== null) &&
    (isOver ||
      purchase.willRenew ===
        (reported.unsubscribedAt === null && reported.billingIssueAt === null)) &&
    (isOver || (purchase.billingIssueDetectedAt !== null) === (reported.billingIssueAt !== null))
  )
}

function eventOf(reported: ReportedSubscription, appUserId: string, transactionKey: string | null) {
  return {
    app_user_id: appUserId,
    environment: reported.environment,
    store: reported.store,
    product_id: reported.productId,
    entitlement_ids: reported.entitlementIds,
    period_type: reported.periodType,
    purchased_at_ms: reported.purchasedAt,
    expiration_at_ms: reported.expiresAt,
    grace_period_expiration_at_ms: reported.graceExpiresAt,
    auto_resume_at_ms: reported.autoResumeAt,
    transaction_id: reported.transactionId ?? transactionKey,
    original_transaction_id: transactionKey,
    unsubscribe_detected_at_ms: reported.unsubscribedAt,
    billing_issues_detected_at_ms: reported.billingIssueAt,
    refunded_at_ms: reported.refundedAt,
  }
}
