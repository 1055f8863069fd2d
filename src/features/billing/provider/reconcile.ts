import { and, asc, eq, gt } from 'drizzle-orm'
import { DAY_MS, HOUR_MS } from '../../../lib/durations.ts'
import type { Log } from '../../../lib/log.ts'
import type { Billing } from '../inbox/event-inbox.ts'
import type { Line } from '../lines/line.ts'
import { type FoldedLine, lineIn } from '../projection/folding.ts'
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
const BATCH = 500
const MOST_A_RUN = 2_000

/**
 * Asks the provider what it would have told us while we were down. A difference is stored as an event of
 * our own type in the same log, so that the fold stays the only truth.
 */
export function createReconcile({
  db,
  readSubscriber,
  recordInternalEvent,
  now,
  log,
}: ReconcileDeps) {
  const { subscriptions, billingAliases } = db.tables
  return { one, overdue }

  /** One customer, by an app user id that we know. */
  async function one(appUserId: string, signal: AbortSignal): Promise<ReconcileReport> {
    const [alias] = await db.read
      .select()
      .from(billingAliases)
      .where(eq(billingAliases.appUserId, appUserId))
    return reconcile(alias ? [{ customerId: alias.customerId, appUserId }] : [], signal)
  }

  /** Lines whose end has passed without a word: they should have been renewed or expired. */
  async function overdue(signal: AbortSignal): Promise<ReconcileReport> {
    const customers = new Set<string>()
    for (let after = ''; !signal.aborted && customers.size < MOST_A_RUN; ) {
      const rows = await db.read
        .select()
        .from(subscriptions)
        .where(and(gt(subscriptions.lineKey, after), eq(subscriptions.environment, 'PRODUCTION')))
        .orderBy(asc(subscriptions.lineKey))
        .limit(BATCH)
      if (rows.length === 0) break
      for (const { lineKey, customerId, state } of rows) {
        after = lineKey
        if (isOverdue(lineIn(state as FoldedLine), now().getTime())) customers.add(customerId)
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
      const lines = await db.read
        .select()
        .from(subscriptions)
        .where(eq(subscriptions.customerId, customerId))
      for (const reported of answer.subscriptions) {
        const known = lines.find(({ state }) => isSameLine(lineIn(state as FoldedLine), reported))
        if (known && agrees(lineIn(known.state as FoldedLine), reported)) continue
        const transactionKey =
          known?.lineKey.slice(known.lineKey.indexOf('|') + 1) ?? reported.transactionId
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

function isOverdue({ endedAt, expiresAt, graceExpiresAt }: Line, now: number): boolean {
  if (endedAt !== null || expiresAt === null) return false
  const end = Math.max(expiresAt, graceExpiresAt ?? 0)
  return end < now - HOUR_MS && end > now - 60 * DAY_MS
}

function isSameLine(line: Line, { productId, store, environment }: ReportedSubscription): boolean {
  return line.productId === productId && line.store === store && line.environment === environment
}

function agrees(line: Line, reported: ReportedSubscription): boolean {
  const isOver = line.endedAt !== null
  return (
    line.expiresAt === reported.expiresAt &&
    (line.refundedAt !== null) === (reported.refundedAt !== null) &&
    (isOver ||
      line.willRenew === (reported.unsubscribedAt === null && reported.billingIssueAt === null)) &&
    (isOver || (line.billingIssueDetectedAt !== null) === (reported.billingIssueAt !== null))
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
