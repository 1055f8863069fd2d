import { and, asc, eq, gt, inArray, lt, ne } from 'drizzle-orm'
import { sha256 } from '../../../lib/crypto/hash.ts'
import type { Log } from '../../../lib/log/log.ts'
import { createCursor } from '../../../platform/db/batched-changes.ts'
import type { Holders } from '../access/holders.ts'
import { isPseudonym } from '../inbox/erasure.ts'
import type { EventInbox } from '../inbox/event-inbox.ts'
import type { Transactions } from '../inbox/transactions.ts'
import { readPurchase } from '../projection/fold-state.ts'
import { NO_CUSTOMER } from '../purchases/ownership.ts'
import { canRenew, findEnd, isDistinctEarlierPeriod } from '../purchases/periods.ts'
import { findSource, type Purchase } from '../purchases/purchase.ts'
import { parseOriginalId } from '../purchases/purchase-key.ts'
import { isOverdue, REFRESHES } from '../purchases/refreshes.ts'
import type { BillingDb } from '../schema.ts'
import type { ReadSubscriber, ReportedSubscription } from './subscriber-api.ts'

type ReconcileDeps = {
  db: BillingDb
  readSubscriber: ReadSubscriber
  eventInbox: Pick<EventInbox, 'recordOwnEvent'>
  transactions: Pick<Transactions, 'listPossibleKeys'>
  findCustomerUser: Holders['findCustomerUser']
  findClaimant: (purchaseKey: string) => Promise<string | null>
  now: () => Date
  log: Log
}

export type Reconcile = ReturnType<typeof createReconcile>
type Row = BillingDb['tables']['subscriptions']['$inferSelect']
type Customer = { customerId: string; appUserId: string }
type ReconcileReport = {
  customers: number
  corrected: string[]
  failed: string[]
  /** Whether the next call must continue. */
  isIncomplete: boolean
}

export const NO_PROVIDER_KEY = 'Set RC_API_KEY to refresh purchases from RevenueCat.'
const PAGE_SIZE = 100
const MAX_CUSTOMERS_PER_RUN = 2_000
/** Stops after this many, because the provider is down or refuses requests: the next run starts with the same customers. */
const MAX_REFUSED_IN_A_ROW = 5
const CURSOR = 'overdue'
/** All production keys are between these two. */
const FIRST_KEY = 'PRODUCTION|'
const LAST_KEY = 'PRODUCTION}'

/**
 * Finds events that were never delivered. Differences go to the log, so that the fold stays the only source of state.
 */
export function createReconcile(deps: ReconcileDeps) {
  const { db, readSubscriber, eventInbox, transactions, findCustomerUser, findClaimant, now, log } =
    deps
  const { subscriptions, billingAliases, reconciliation } = db.tables
  const cursor = createCursor(db, reconciliation, CURSOR)
  const { purchaseKey } = subscriptions
  return { reconcileUser, reconcileOverdue }

  /** Does nothing for an id that no event has named: a request would create a customer at the provider. */
  async function reconcileUser(appUserId: string, signal: AbortSignal): Promise<ReconcileReport> {
    const [alias] = await db.read
      .select()
      .from(billingAliases)
      .where(eq(billingAliases.appUserId, appUserId))
    const report = emptyReport()
    if (alias) await reconcile({ customerId: alias.customerId, appUserId }, report, signal)
    return report
  }

  /** For purchases that ended without an event. Each call checks the next `share`, so that all get their turn. */
  async function reconcileOverdue(signal: AbortSignal, share = 1): Promise<ReconcileReport> {
    const report = emptyReport()
    const checked = new Set<string>()
    let refusedInARow = 0
    const isStopped = () => signal.aborted || refusedInARow === MAX_REFUSED_IN_A_ROW
    /** The last purchase before a customer about whom the provider refuses requests. */
    let checkedUpTo = await readCursor()
    let left = Math.ceil(share * (await db.read.$count(subscriptions, isAfter(FIRST_KEY))))
    for (let after = checkedUpTo; left > 0 && checked.size < MAX_CUSTOMERS_PER_RUN; ) {
      const rows = await pageAfter(after, Math.min(left, PAGE_SIZE))
      for (const { customerId, state, purchaseKey } of rows) {
        if (isStopped()) break
        const isChecked = customerId === NO_CUSTOMER || checked.has(customerId)
        if (!isChecked && isDue(readPurchase(state), now().getTime())) {
          checked.add(customerId)
          const isAllowed = await reconcile({ customerId, appUserId: customerId }, report, signal)
          refusedInARow = isAllowed ? 0 : refusedInARow + 1
        }
        if (refusedInARow === 0) checkedUpTo = purchaseKey
      }
      if (isStopped()) break
      const isEmpty = rows.length === 0 && after === FIRST_KEY
      left = isEmpty ? 0 : left - rows.length
      after = rows.at(-1)?.purchaseKey ?? FIRST_KEY
      if (refusedInARow === 0) checkedUpTo = after
    }
    await storeCursor(checkedUpTo)
    return { ...report, isIncomplete: left > 0 }
  }

  function isAfter(key: string) {
    return and(gt(purchaseKey, key), lt(purchaseKey, LAST_KEY))
  }

  function pageAfter(key: string, limit: number) {
    return db.read
      .select()
      .from(subscriptions)
      .where(isAfter(key))
      .orderBy(asc(purchaseKey))
      .limit(limit)
  }

  async function readCursor(): Promise<string> {
    return (await cursor.read()) ?? FIRST_KEY
  }

  async function storeCursor(reached: string) {
    await db.write((tx) => cursor.store(tx, reached))
  }

  /** Returns whether the provider accepts requests. */
  async function reconcile(
    { customerId, appUserId }: Customer,
    report: ReconcileReport,
    signal: AbortSignal,
  ): Promise<boolean> {
    if (isPseudonym(appUserId)) return true
    report.customers++
    const reply = await readSubscriber(appUserId, signal)
    if ('failed' in reply) {
      log.warn({ reason: reply.failed }, 'a customer could not be reconciled')
      report.failed.push(appUserId)
      return !reply.isGeneral
    }
    const rows = await db.read
      .select()
      .from(subscriptions)
      .where(eq(subscriptions.customerId, customerId))
    // The latest event decides who has the customer's purchases, so this event names the same user.
    const holder = (await findCustomerUser(db.read, customerId)) ?? appUserId
    for (const reported of reply.subscriptions) {
      const { transactionId } = reported
      const possible =
        transactionId === null ? [] : await transactions.listPossibleKeys(transactionId)
      const keys = possible.filter((key) => key.startsWith(`${reported.environment}|`))
      const known = findReported(rows, reported, keys)
      if (known && isUpToDate(readPurchase(known.state), reported)) continue
      const other = known ? undefined : await findOfOthers(customerId, keys)
      // The provider has no record of a claim made here. Without a claim, the provider's transfer event was lost.
      if (other && (await findClaimant(other.purchaseKey)) !== null) continue
      const key = (known ?? other)?.purchaseKey
      const transactionKey =
        key?.slice(key.indexOf('|') + 1) ??
        (transactionId === null ? null : parseOriginalId(transactionId))
      const event = toEvent(reported, holder, transactionKey)
      await db.write((tx) => eventInbox.recordOwnEvent(tx, 'HOMEPORT_RECONCILED', reply.at, event))
      const list = reported.expiresAt === null ? report.failed : report.corrected
      list.push(`${appUserId} ${reported.productId}`)
    }
    return true
  }

  async function findOfOthers(customerId: string, keys: string[]): Promise<Row | undefined> {
    const isOfOther = and(inArray(purchaseKey, keys), ne(subscriptions.customerId, customerId))
    const [row] = await db.read.select().from(subscriptions).where(isOfOther)
    return row
  }

  /** The purchase that a report is about. The provider also reports products from before an upgrade of a purchase. */
  function findReported(rows: Row[], reported: ReportedSubscription, keys: string[]) {
    const candidates = rows.filter(({ state }) => isInSameStore(readPurchase(state), reported))
    const known = candidates.find((row) => keys.includes(row.purchaseKey))
    // Google's order ids identify the purchase. Other ids are unknown if the event of a renewal was lost.
    if (known || reported.transactionId?.startsWith('GPA.')) return known
    const readStart = ({ state }: Row) => readPurchase(state).purchasedAt ?? 0
    return candidates
      .filter(({ state }) => readPurchase(state).productId === reported.productId)
      .toSorted((a, b) => readStart(b) - readStart(a))[0]
  }
}

function emptyReport(): ReconcileReport {
  return { customers: 0, corrected: [], failed: [], isIncomplete: false }
}

/** The provider may not have the customer of granted access, or of a period that only the store has reported. */
function isDue(purchase: Purchase, now: number): boolean {
  const { afterMs, untilMs } = REFRESHES.provider
  const isProvided = findSource(purchase) === 'provider' || purchase.provided !== null
  const isGivenUp = (findEnd(purchase) ?? 0) + untilMs <= now
  return isProvided && !isGivenUp && isOverdue(purchase, afterMs, now)
}

function isInSameStore(purchase: Purchase, { store, environment }: ReportedSubscription): boolean {
  return purchase.store === store && purchase.environment === environment
}

/** Whether a purchase is as reported, or the report is about an earlier period. */
function isUpToDate(purchase: Purchase, reported: ReportedSubscription): boolean {
  const isEarlier = isDistinctEarlierPeriod(purchase, { ...reported, stated: null })
  return isEarlier || matchesReport(purchase, reported)
}

function matchesReport(purchase: Purchase, reported: ReportedSubscription): boolean {
  const isOver = purchase.endedAt !== null
  return (
    isSameSecond(purchase.expiresAt, reported.expiresAt) &&
    (purchase.refundedAt !== null) === (reported.refundedAt !== null) &&
    (isOver ||
      purchase.willRenew ===
        (canRenew(reported) &&
          reported.unsubscribedAt === null &&
          reported.billingIssueAt === null)) &&
    (isOver || (purchase.billingIssueDetectedAt !== null) === (reported.billingIssueAt !== null))
  )
}

/** The provider's API gives times in whole seconds, its events in ms. */
function isSameSecond(a: number | null, b: number | null): boolean {
  return a === null || b === null ? a === b : Math.floor(a / 1000) === Math.floor(b / 1000)
}

function toEvent(reported: ReportedSubscription, appUserId: string, transactionKey: string | null) {
  const { productId, expiresAt } = reported
  const subject = sha256(JSON.stringify([appUserId, productId, transactionKey]), 'hex')
  return {
    // An unreadable report is listed once, however often it is read.
    ...(expiresAt === null ? { id: `unreadable:${subject}` } : {}),
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
