import type { AppStoreApp } from '../../../config/subjects/stores.ts'
import type { Log } from '../../../lib/log/log.ts'
import type { Limits, WindowRule } from '../../../platform/limits/limits.ts'
import { toEnvironment } from '../../billing/environment.ts'
import type { Delivery } from '../../billing/inbox/event.ts'
import { findPurchaseKey } from '../../billing/purchases/event-order.ts'
import type { Purchase } from '../../billing/purchases/purchase.ts'
import { AppleApiError } from '../apple/api-error.ts'
import type { AppStore } from '../apple/app-store.ts'
import { AppleTokenError } from '../apple/certificates.ts'
import { readSnapshot } from '../apple/snapshot.ts'
import type { VerifyToken } from '../apple/token.ts'
import type { PlaySubmission, SubmitPlayPurchase } from '../google/submissions.ts'
import { type Refusal, refusal, type SubmissionResult } from '../model.ts'
import type { StoresDb } from '../schema.ts'
import type { StripeSubmission, SubmitSession } from '../stripe/checkout/submissions.ts'
import type { Claims } from './claims.ts'
import type { RecordSnapshot } from './snapshots.ts'

type SubmissionsDeps = {
  db: StoresDb
  apps: AppStoreApp[]
  verify: VerifyToken
  /** Null if there is no key for Apple's API. */
  appStore: AppStore | null
  /** Null if Google Play is not set up. */
  submitPlayPurchase: SubmitPlayPurchase | null
  /** Null if Stripe is not set up. */
  submitSession: SubmitSession | null
  claims: Claims
  recordSnapshot: RecordSnapshot
  ignoresSandbox: boolean
  limits: Limits
  log: Log
}

type AppStoreSubmission = { store: 'app_store'; signedTransaction: string }
type Submission = AppStoreSubmission | PlaySubmission | StripeSubmission

/** Limits unconfirmed purchases per network, because all users share Google's quota. */
const UNCONFIRMED_LIMIT: WindowRule = { name: 'unconfirmed-purchases', max: 200, seconds: 60 * 60 }
/** Refusals that anyone can repeat at will, with free accounts. */
const UNCONFIRMED: Refusal[] = ['purchase_gone', 'purchase_of_another']
/** How long a user waits for the stores, at most. */
const API_TIMEOUT_MS = 5_000

export type Submit = ReturnType<typeof createSubmissions>

export function createSubmissions(deps: SubmissionsDeps) {
  const { db, apps, verify, appStore, claims, recordSnapshot, ignoresSandbox, log } = deps
  const { submitPlayPurchase, submitSession, limits } = deps
  return submit

  /** Submits purchases in order, with a result for each. `ip`: of the request. Throws `rate_limited`. */
  async function submit(
    { userId, ip }: { userId: string; ip: string },
    submissions: Submission[],
    takeOver: boolean,
  ) {
    // All purchases share the time that the user waits for the stores.
    const deadline = AbortSignal.timeout(API_TIMEOUT_MS)
    const results: SubmissionResult[] = []
    for (const submission of submissions) results.push(await submitOne(submission))
    return results

    async function submitOne(submission: Submission): Promise<SubmissionResult> {
      if (submission.store === 'app_store') return submitTransaction(submission)
      const attempt = await limits.reserve([{ rule: UNCONFIRMED_LIMIT, key: ip }])
      const result =
        submission.store === 'stripe'
          ? await submitSession?.(userId, submission, deadline)
          : await submitPlayPurchase?.(userId, submission, takeOver, deadline)
      if (result === undefined) return refusal('store_not_set_up')
      if (isConfirmed(result)) await db.write((tx) => attempt.release(tx))
      return result
    }

    async function submitTransaction({
      signedTransaction,
    }: AppStoreSubmission): Promise<SubmissionResult> {
      const delivery = read(signedTransaction)
      if (typeof delivery === 'string') return refusal(delivery)
      const { environment, transactionId, productId, expiresAt } = delivery.event
      const described = {
        environment: toEnvironment(environment),
        transactionId,
        productId,
        expiresAt: expiresAt === null ? null : new Date(expiresAt).toISOString(),
      }
      if (environment === 'SANDBOX' && ignoresSandbox) {
        return { ...refusal('sandbox_ignored'), ...described }
      }
      if (delivery.event.problem !== null) {
        await db.write((tx) => recordSnapshot(tx, delivery))
        return { ...refusal('purchase_invalid'), ...described }
      }
      const purchaseKey = findPurchaseKey(delivery.event) ?? ''
      const heldBy = await claims.findOwner(db.read, purchaseKey)
      const known = await claims.findPurchase(db.read, purchaseKey)
      const snapshots = isAlreadyKnown(known, delivery)
        ? []
        : [delivery, ...(await queryApple(delivery, deadline))]
      const result = await db.write(async (tx) => {
        for (const snapshot of snapshots) await recordSnapshot(tx, snapshot)
        return claims.claim(tx, { userId, purchaseKey, heldBy, takeOver })
      })
      return { ...result, ...described }
    }
  }

  function read(signedTransaction: string): Delivery | Refusal {
    if (apps.length === 0) return 'store_not_set_up'
    try {
      return readSnapshot({ transaction: signedTransaction }, verify, apps)
    } catch (error) {
      if (!(error instanceof AppleTokenError)) throw error
      return error.fault === 'other_app' ? 'purchase_of_other_app' : 'purchase_invalid'
    }
  }

  /** Queries Apple too, because the app's transaction may be older than a refund. */
  async function queryApple({ event }: Delivery, deadline: AbortSignal): Promise<Delivery[]> {
    const { originalTransactionId, environment } = event
    if (appStore === null || originalTransactionId === null) return []
    try {
      return await appStore.readPurchases(originalTransactionId, environment, deadline)
    } catch (error) {
      if (!(error instanceof AppleApiError)) throw error
      log.warn({ err: error }, 'a submitted purchase could not be checked with the App Store')
      return []
    }
  }
}

function isConfirmed(result: SubmissionResult): boolean {
  const isUnknown = 'code' in result && UNCONFIRMED.includes(result.code)
  // A purchase that was known before can be submitted again while Google is not available.
  const isChecking = result.outcome === 'checking' && result.transactionId === null
  return !isUnknown && !isChecking
}

/** Whether the store has already stated what a transaction states. */
function isAlreadyKnown(known: Purchase | null, { event }: Delivery): boolean {
  return (
    known?.stated?.transactionId === event.transactionId &&
    known.expiresAt === event.expiresAt &&
    // Family Sharing may have ended without a refund.
    (known.endedAt !== null || event.endedAt === null) &&
    // A transaction signed after a refund that does not mention the refund is no longer refunded.
    (known.refundedAt === null
      ? event.refundedAt === null
      : event.refundedAt !== null || (event.at ?? 0) <= known.refundedAt)
  )
}
