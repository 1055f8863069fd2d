import { and, desc, eq, inArray, like } from 'drizzle-orm'
import { AppError } from '../../../lib/errors.ts'
import { utf8 } from '../../billing/inbox/event-log.ts'
import { listKeys } from '../../billing/purchases/purchase-key.ts'
import type { StripeContext } from './context.ts'
import { isObjectId } from './events/notification.ts'
import type { StripeObject } from './refresh/objects.ts'
import type { StripeQueue } from './refresh/queue.ts'

const REFRESH_TIMEOUT_MS = 20_000

/** Finds, refreshes and cancels purchases for operators. */
export function createStripePurchases({
  db,
  api,
  objects,
  queue,
}: StripeContext & { queue: StripeQueue }) {
  const { stripeObjects, billingEvents } = db.tables
  return { findPurchases, refreshPurchase, cancelPurchases }

  /** The ids of the items of a subscription, a customer or a charge. */
  async function findPurchases(id: string): Promise<string[]> {
    if (!isObjectId(id)) return []
    const which = id.startsWith('cus_') ? eq(stripeObjects.customer, id) : eq(stripeObjects.id, id)
    const found = await objects.load(db.read, which)
    return found.flatMap(({ items }) => items.map((item) => item.id))
  }

  /** Refreshes the subscription of an item. Throws `StripeApiError`. */
  async function refreshPurchase(itemId: string) {
    const { id } = await findSubscription(itemId)
    await queue.refreshNow(id, AbortSignal.timeout(REFRESH_TIMEOUT_MS))
  }

  /** Cancels the subscription of items when its period ends, or now. Throws 409 for several, and `StripeApiError`. */
  async function cancelPurchases(itemIds: string[], isNow: boolean) {
    const found = await Promise.all(itemIds.map(findSubscription))
    // A customer may also have ended subscriptions, which are not queried again.
    const running = found.filter(({ dueAt }) => dueAt !== null)
    const byId = new Map((running.length > 0 ? running : found).map((one) => [one.id, one]))
    const [subscription, ...others] = byId.values()
    if (subscription === undefined || others.length > 0)
      throw new AppError(
        'conflict',
        `The customer has several subscriptions. Cancel one by its id: ${[...byId.keys()].join(', ')}.`,
      )
    const { id, environment } = subscription
    await api.call(environment, `subscriptions/${id}`, {
      method: isNow ? 'DELETE' : 'POST',
      params: isNow ? {} : { cancel_at_period_end: true },
    })
    await queue.refreshNow(id, AbortSignal.timeout(REFRESH_TIMEOUT_MS))
  }

  /** Throws 404 for a subscription that only the billing provider has reported. */
  async function findSubscription(itemId: string): Promise<StripeObject> {
    const [latest] = await db.read
      .select({ body: billingEvents.body })
      .from(billingEvents)
      .where(
        and(
          inArray(billingEvents.purchaseKey, listKeys(itemId)),
          eq(billingEvents.provider, 'stripe'),
          // Not a refund, which does not name the subscription.
          like(billingEvents.eventId, `${itemId}:%`),
        ),
      )
      .orderBy(desc(billingEvents.orderedAt))
      .limit(1)
    const { subscription } = latest ? JSON.parse(utf8(latest.body)) : {}
    const found = subscription && (await objects.find(db.read, subscription.id))
    if (found) return found
    throw new AppError(
      'not_found',
      'The subscription was not sold by this server. Run "homeport stores catch-up --all".',
    )
  }
}
