import type { Log } from '../../../../lib/log.ts'
import type { AppStoreApp } from '../../../../lib/store-settings.ts'
import type { Delivery } from '../../inbox/event.ts'
import { purchaseKeyOf } from '../../purchases/event-order.ts'
import type { Purchase } from '../../purchases/purchase.ts'
import type { BillingDb } from '../../schema.ts'
import { AppleApiError } from '../apple/api-error.ts'
import type { AppStore } from '../apple/app-store.ts'
import { readStatement } from '../apple/statement.ts'
import type { VerifyToken } from '../apple/token.ts'
import { AppleTokenError } from '../apple/token-error.ts'
import type { SubmissionResult } from '../model.ts'
import type { Claims } from './claims.ts'
import type { RecordStatement } from './statements.ts'

type SubmissionsDeps = {
  db: BillingDb
  apps: AppStoreApp[]
  verify: VerifyToken
  /** Null without a key for Apple's API. */
  appStore: AppStore | null
  claims: Claims
  recordStatement: RecordStatement
  ignoresSandbox: boolean
  log: Log
}

type Submission = { store: 'app_store'; signedTransaction: string }
type Refusal = Extract<SubmissionResult, { outcome: 'refused' }>['code']

/** How long a user waits for Apple, at most. */
const API_TIMEOUT_MS = 5_000

export type Submit = ReturnType<typeof createSubmissions>

/** Records the purchases that apps submit for their users. */
export function createSubmissions(deps: SubmissionsDeps) {
  const { db, apps, verify, appStore, claims, recordStatement, ignoresSandbox, log } = deps
  return submit

  /** Records and claims purchases for a user, one after the other. Returns one result each, in order. */
  async function submit(userId: string, submissions: Submission[], takeOver: boolean) {
    // All purchases share the time that the user waits for Apple.
    const deadline = AbortSignal.timeout(API_TIMEOUT_MS)
    const results: SubmissionResult[] = []
    for (const submission of submissions) results.push(await submitOne(submission))
    return results

    async function submitOne({ signedTransaction }: Submission): Promise<SubmissionResult> {
      const delivery = read(signedTransaction)
      if (typeof delivery === 'string') return refusal(delivery)
      const { environment, transactionId, productId, expiresAt } = delivery.event
      const described = {
        environment: environment === 'SANDBOX' ? ('sandbox' as const) : ('production' as const),
        transactionId,
        productId,
        expiresAt: expiresAt === null ? null : new Date(expiresAt).toISOString(),
      }
      if (environment === 'SANDBOX' && ignoresSandbox) {
        return { ...refusal('sandbox_ignored'), ...described }
      }
      const purchaseKey = purchaseKeyOf(delivery.event) ?? ''
      const heldBy = await claims.ownerOf(db.read, purchaseKey)
      const known = await claims.purchaseOf(db.read, purchaseKey)
      const news = saysAll(known, delivery)
        ? []
        : [delivery, ...(await askApple(delivery, deadline))]
      const result = await db.write(async (tx) => {
        for (const one of news) await recordStatement(tx, one)
        return claims.claim(tx, { userId, purchaseKey, heldBy, takeOver })
      })
      return { ...result, ...described }
    }
  }

  function read(signedTransaction: string): Delivery | Refusal {
    if (apps.length === 0) return 'store_not_set_up'
    try {
      return readStatement({ transaction: signedTransaction }, verify, apps)
    } catch (error) {
      if (!(error instanceof AppleTokenError)) throw error
      return error.fault === 'other_app' ? 'purchase_of_other_app' : 'purchase_invalid'
    }
  }

  /** What Apple says now: the app's transaction may be older than a refund. */
  async function askApple({ event }: Delivery, deadline: AbortSignal): Promise<Delivery[]> {
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

/** Whether the store has already said what a transaction says. */
function saysAll(known: Purchase | null, { event }: Delivery): boolean {
  return (
    known?.stated?.transactionId === event.transactionId &&
    known.expiresAt === event.expiresAt &&
    (known.refundedAt !== null || event.refundedAt === null)
  )
}

function refusal(code: Refusal): SubmissionResult {
  return {
    outcome: 'refused',
    code,
    environment: null,
    transactionId: null,
    productId: null,
    expiresAt: null,
  }
}
