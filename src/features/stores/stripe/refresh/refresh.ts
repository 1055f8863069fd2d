import type { Json } from '../../../../lib/text/json.ts'
import { DAY_MS, MINUTE_MS } from '../../../../lib/time/durations.ts'
import type { Tx } from '../../../../platform/db/db.ts'
import { retryDelay } from '../../../../platform/queue/retry-delay.ts'
import { findPlanOfPurchase } from '../../../billing/access/plan-matching.ts'
import { REFRESHES } from '../../../billing/purchases/refreshes.ts'
import { computeRefresh } from '../../checks/schedule.ts'
import { StripeApiError } from '../api/api-error.ts'
import type { Customers } from '../checkout/customers.ts'
import type { StripeContext } from '../context.ts'
import { toDelivery } from '../events/delivery.ts'
import { findTarget } from '../events/notification.ts'
import { readSnapshots, toPurchaseKey } from '../events/snapshot.ts'
import {
  EXPANDED,
  type KnownItem,
  readOwner,
  readSubscription,
  type StripeSubscription,
} from '../events/state.ts'
import type { Charges } from './charges.ts'
import type { StripeObject } from './objects.ts'

export type RefreshObject = ReturnType<typeof createRefresh>

const QUIET_MS = 7 * DAY_MS
const MAX_DELAY_MS = 10 * MINUTE_MS
const RETRIES = { delays: [1, 2, 4, 8].map((minutes) => minutes * MINUTE_MS), thenMs: MAX_DELAY_MS }
/** An object may be unknown for a moment after it was created. */
const MAX_UNKNOWN = 3
const UNPAID = ['incomplete', 'incomplete_expired']
const OVER = ['canceled', 'incomplete_expired']

const PATHS: Record<string, string> = {
  cs: 'checkout/sessions',
  in: 'invoices',
  re: 'refunds',
  pyr: 'refunds',
  dp: 'disputes',
  du: 'disputes',
}

/** Queries Stripe about a leased object and records the response, or carries out the object's task there. */
export function createRefresh(deps: StripeContext & { customers: Customers; charges: Charges }) {
  const { db, api, objects, customers, charges, snapshots, eventInbox, listPlans, now } = deps
  return refresh

  /** Throws `StripeApiError`. */
  async function refresh(object: StripeObject, signal?: AbortSignal): Promise<KnownItem[]> {
    try {
      return object.task === 'read' ? await read(object, signal) : await carryOut(object, signal)
    } catch (error) {
      if (!(error instanceof StripeApiError)) throw error
      await db.write(async (tx) => {
        const plan = signal?.aborted ? {} : planAfterFailure(object, error)
        // Stripe has never known the object.
        if (plan.dueAt === null && object.askedAt === null) return objects.remove(tx, object)
        const isFinished = await objects.finish(tx, object, plan)
        if (isFinished && error.reason === 'unreadable') await recordUnreadable(tx, object)
      })
      throw error
    }
  }

  async function read(object: StripeObject, signal?: AbortSignal): Promise<KnownItem[]> {
    const { id, environment } = object
    const [prefix = ''] = id.split('_')
    if (prefix === 'sub') {
      const askedAt = now()
      const params = { expand: EXPANDED }
      const reply = await api.call(environment, `subscriptions/${id}`, { params, signal })
      return db.write((tx) => record(tx, object, reply, askedAt))
    }
    if (prefix === 'ch' || prefix === 'py') await charges.refresh(object, signal)
    else if (prefix === 'cus') await db.write((tx) => recordDeletedCustomer(tx, object))
    else await resolve(object, PATHS[prefix] ?? '', signal)
    return []
  }

  /** Finds the subscription or charge that an event is about. */
  async function resolve(object: StripeObject, path: string, signal?: AbortSignal) {
    const { id, environment } = object
    const reply = await api.call(environment, `${path}/${id}`, { signal })
    const target = findTarget(id, reply)
    await db.write(async (tx) => {
      if (target.id !== id) await objects.enqueue(tx, environment, target)
      await objects.remove(tx, object)
    })
  }

  async function recordDeletedCustomer(tx: Tx, object: StripeObject) {
    await customers.forget(tx, object.id)
    await objects.enqueueAllOf(tx, object.id)
    await objects.remove(tx, object)
  }

  async function carryOut(object: StripeObject, signal?: AbortSignal): Promise<KnownItem[]> {
    const { id, environment, task } = object
    if (task === 'expire') await closePage(object, signal)
    else if (task === 'delete')
      await tolerateGone(api.call(environment, `customers/${id}`, { method: 'DELETE', signal }))
    else await cancelAll(object, signal)
    await db.write(async (tx) => {
      await objects.enqueueAllOf(tx, id)
      await objects.remove(tx, object)
    })
    return []
  }

  /** Also cancels what was paid on the page since the customer's subscriptions were listed. */
  async function closePage({ id, environment }: StripeObject, signal?: AbortSignal) {
    const path = `checkout/sessions/${id}`
    await tolerateGone(api.call(environment, `${path}/expire`, { method: 'POST', signal }))
    const { subscription } = await tolerateGone(api.call(environment, path, { signal }))
    if (typeof subscription === 'string') await cancel(environment, subscription, signal)
  }

  async function cancelAll({ id, environment }: StripeObject, signal?: AbortSignal) {
    for await (const page of api.list(environment, 'subscriptions', { customer: id }, signal)) {
      for (const { id: subscription } of page)
        await cancel(environment, String(subscription), signal)
    }
  }

  async function cancel(
    environment: StripeObject['environment'],
    id: string,
    signal?: AbortSignal,
  ) {
    await tolerateGone(api.call(environment, `subscriptions/${id}`, { method: 'DELETE', signal }))
  }

  /** Records a response about a subscription. Returns its items. */
  async function record(tx: Tx, object: StripeObject, reply: Json, askedAt: Date) {
    const { environment, items: known } = object
    const subscription = readSubscription(reply)
    const owner = readOwner(reply)
    await customers.remember(tx, environment, owner)
    const userId = await findOwner(tx, object, owner)
    const isOurs = await isSoldHere(subscription, owner, userId)
    const lastAt = await Promise.all(
      known.map((item) => snapshots.latestAt(tx, 'stripe', toPurchaseKey(environment, item))),
    )
    const { deliveries, items } = readSnapshots({
      subscription,
      environment,
      known,
      userId,
      graceDays: deps.settings.stripeGraceDays,
      askedAt: askedAt.getTime(),
      orderedAt: Math.max(askedAt.getTime(), ...lastAt.map((at) => at + 1)),
    })
    const isNeverPaid = known.length === 0 && isFirstUnpaid(subscription, reply)
    const isRecorded = isOurs && !UNPAID.includes(subscription.status) && !isNeverPaid
    for (const delivery of isRecorded ? deliveries : []) await snapshots.record(tx, delivery)
    const isFinished = await objects.finish(tx, object, {
      customer: owner.customer,
      items: isRecorded ? items : known,
      askedAt,
      ...(isOurs ? planAfter(subscription, object.attempts) : { dueAt: null, attempts: 0 }),
    })
    if (!isFinished) throw new StripeApiError('busy')
    return isRecorded ? items : []
  }

  async function findOwner(
    tx: Tx,
    object: StripeObject,
    { customer, ...owner }: ReturnType<typeof readOwner>,
  ) {
    const isNamed = owner.server === deps.serverId
    return (
      (await customers.findUser(tx, customer)) ?? (isNamed ? owner.userId : null) ?? object.userId
    )
  }

  /** A Stripe account may sell for other servers, and other products. */
  async function isSoldHere(
    { items }: StripeSubscription,
    { server }: ReturnType<typeof readOwner>,
    userId: string | null,
  ): Promise<boolean> {
    if (server !== null && server !== deps.serverId) return false
    if (userId !== null) return true
    const catalogue = await listPlans([])
    return items.some((item) => findPlanOfPurchase(item, catalogue) !== undefined)
  }

  async function recordUnreadable(tx: Tx, { id }: StripeObject) {
    await eventInbox.recordOnce(tx, toDelivery({ unreadable: id, askedAt: now().getTime() }))
  }

  function planAfter({ status, items }: StripeSubscription, attempts: number) {
    const at = now().getTime()
    if (OVER.includes(status)) return { dueAt: null, attempts: 0 }
    const { afterMs } = REFRESHES.store
    const ends = items.map(({ endsAt }) => endsAt + afterMs)
    const isWaiting = !['active', 'trialing'].includes(status)
    const expectedAt = isWaiting ? at + DAY_MS : Math.min(...ends, at + QUIET_MS)
    const dueAt = Math.min(computeRefresh(expectedAt, attempts, at), at + QUIET_MS)
    return { dueAt: new Date(dueAt), attempts: expectedAt <= at ? attempts + 1 : 0 }
  }

  function planAfterFailure(
    { attempts }: StripeObject,
    { reason }: StripeApiError,
  ): { dueAt?: Date | null; attempts?: number } {
    const after = (ms: number) => new Date(now().getTime() + ms)
    // The whole queue pauses anyway.
    if (reason === 'limited') return {}
    if (reason === 'unknown' && attempts + 1 >= MAX_UNKNOWN) return { dueAt: null }
    if (reason === 'refused_key')
      return { dueAt: after(MAX_DELAY_MS), attempts: Math.max(attempts, 1) }
    return { dueAt: after(retryDelay(attempts, RETRIES)), attempts: attempts + 1 }
  }
}

/** While a first bank debit is on its way, or after it has failed, Stripe may call the subscription active or past due. */
function isFirstUnpaid({ startedAt, invoice, items }: StripeSubscription, reply: Json): boolean {
  const isFirst = invoice?.isOfCycle === true && items.every((one) => one.startsAt === startedAt)
  return isFirst && invoice.status === 'open' && reply['collection_method'] !== 'send_invoice'
}

/** Ignores the error if the object is already gone or closed. */
async function tolerateGone(request: Promise<Json>): Promise<Json> {
  return request.catch((error) => {
    const isDone =
      error instanceof StripeApiError && (error.reason === 'unknown' || error.reason === 'rejected')
    if (!isDone) throw error
    return {}
  })
}
