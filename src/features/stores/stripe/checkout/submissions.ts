import { type StoredEnvironment, toEnvironment } from '../../../billing/environment.ts'
import { readAppUserId } from '../../../billing/inbox/event.ts'
import { text } from '../../json.ts'
import { refusal, type SubmissionResult } from '../../model.ts'
import { StripeApiError } from '../api/api-error.ts'
import type { StripeContext } from '../context.ts'
import { toPurchaseKey } from '../events/snapshot.ts'
import type { KnownItem } from '../events/state.ts'
import type { StripeQueue } from '../refresh/queue.ts'
import type { Customers } from './customers.ts'

export type StripeSubmission = { store: 'stripe'; sessionId: string }

export type SubmitSession = ReturnType<typeof createStripeSubmissions>

/** For apps, after the return from Stripe's page: the webhook may be late. */
export function createStripeSubmissions(
  deps: StripeContext & { customers: Customers; queue: StripeQueue },
) {
  const { db, api, objects, customers, claims, queue, ignoresSandbox, log } = deps
  return submit

  async function submit(
    userId: string,
    { sessionId }: StripeSubmission,
    deadline: AbortSignal,
  ): Promise<SubmissionResult> {
    const environment = sessionId.startsWith('cs_test_') ? 'SANDBOX' : 'PRODUCTION'
    if (!api.hasKey(environment)) return refusal('store_not_set_up')
    if (environment === 'SANDBOX' && ignoresSandbox)
      return withEnvironment(refusal('sandbox_ignored'))
    try {
      const session = await api.call(environment, `checkout/sessions/${sessionId}`, {
        signal: deadline,
      })
      const customer = text(session['customer'])
      const owner =
        (customer === null ? null : await customers.findUser(db.read, customer)) ??
        readAppUserId(session['client_reference_id'])
      if (owner !== userId)
        return withEnvironment({ ...refusal('purchase_of_another'), canTakeOverAt: null })
      const subscription = text(session['subscription'])
      if (session['status'] !== 'complete' || subscription === null)
        return withEnvironment(refusal('purchase_gone'))
      const target = { id: subscription, customer, userId }
      const before = await objects.find(db.read, subscription)
      const heldBy = await findHolder(before?.items)
      if (before === null || before.items.length === 0)
        await db.write((tx) => objects.enqueue(tx, environment, target))
      const items = await queue.refreshNow(subscription, deadline)
      const [item] = items
      if (item === undefined) return { ...toStatus(), outcome: 'pending' }
      const result = await db.write((tx) =>
        claims.claim(tx, {
          userId,
          purchaseKey: toPurchaseKey(environment, item),
          heldBy,
          takeOver: false,
        }),
      )
      return { ...toStatus(item), ...result }
    } catch (error) {
      if (!(error instanceof StripeApiError)) throw error
      if (error.reason === 'unknown') return withEnvironment(refusal('purchase_gone'))
      log.warn({ err: error }, 'a submitted purchase could not be checked with Stripe')
      // The session, once read, names its owner.
      await db.write((tx) => objects.enqueue(tx, environment, { id: sessionId }))
      return { ...toStatus(), outcome: 'checking' }
    }

    async function findHolder([item]: KnownItem[] = []) {
      return item ? claims.findOwner(db.read, toPurchaseKey(environment, item)) : null
    }

    function withEnvironment<Result>(result: Result) {
      return { ...result, environment: toEnvironment(environment as StoredEnvironment) }
    }

    function toStatus(item?: KnownItem) {
      return withEnvironment({
        transactionId: item?.invoiceId ?? null,
        productId: item?.productId ?? null,
        expiresAt: item ? new Date(item.endsAt).toISOString() : null,
      })
    }
  }
}
