import type { StoredEnvironment } from '../../../billing/environment.ts'
import type { Delivery } from '../../../billing/inbox/event.ts'
import { toDelivery } from './delivery.ts'
import { findDueDate, type SubscriptionDocument, stripeEvent } from './event.ts'
import type { KnownItem, StripeItem, StripeSubscription } from './state.ts'

type SnapshotInput = {
  subscription: StripeSubscription
  environment: StoredEnvironment
  known: KnownItem[]
  userId: string | null
  graceDays: number
  askedAt: number
  /** The time that orders the events: later than that of all earlier responses. */
  orderedAt: number
}

/** Returns one event per product, including products that the subscription no longer has, and what is then known. */
export function readSnapshots({ subscription, known, ...input }: SnapshotInput): {
  deliveries: Delivery[]
  items: KnownItem[]
} {
  const { items: current, ...shared } = subscription
  const total = current.reduce((sum, { amount, quantity }) => sum + amount * quantity, 0)
  const snapshots = current.map((item, at) => {
    const share = total === 0 ? Number(at === 0) : (item.amount * item.quantity) / total
    return read(item, share, false)
  })
  const gone = known.filter(({ id }) => !current.some((one) => one.id === id))
  const ended = gone
    .filter(({ isOver }) => !isOver)
    .map((item) => read({ ...item, amount: 0, currency: '' }, 0, true))
  const changed = [...snapshots, ...ended]
  return {
    deliveries: changed.map(({ delivery }) => delivery),
    items: [...changed.map(({ item }) => item), ...gone.filter(({ isOver }) => isOver)],
  }

  /** A product that replaces an unpaid one does not get a new grace period. */
  function findUnpaidSince(): number | null {
    return (
      known.find(({ isOver, unpaidSince }) => !isOver && unpaidSince !== null)?.unpaidSince ?? null
    )
  }

  function read(item: StripeItem, share: number, isRemoved: boolean) {
    const before = known.find(({ id }) => id === item.id)
    const { environment, userId, graceDays, askedAt, orderedAt } = input
    const { status, cancelReason } = subscription
    const isGivenUp = status === 'canceled' && cancelReason === 'payment_failed'
    const hasFailed = isGivenUp || FAILED.includes(status)
    const since = before?.unpaidSince ?? findUnpaidSince() ?? findDueDate(shared, item)
    const unpaidSince = hasFailed ? since : null
    const { invoice } = subscription
    const earlier = before?.startsAt === item.startsAt ? before : null
    const isOfPeriod = covers(invoice, item) && (invoice?.isOfCycle || earlier === null)
    const invoiceId = (isOfPeriod ? invoice?.id : earlier?.invoiceId) ?? null
    const isVoided = invoice?.isOfCycle ? invoice.status === 'void' : earlier?.isVoided === true
    const document: SubscriptionDocument = {
      subscription: shared,
      item,
      share,
      invoiceId,
      environment,
      type: '',
      askedAt,
      ...(orderedAt === askedAt ? {} : { orderedAt }),
      graceDays,
      ...(unpaidSince === null ? {} : { unpaidSince }),
      ...(userId === null ? {} : { userId }),
      ...(isVoided ? { isVoided } : {}),
      ...(isRemoved ? { isRemoved } : {}),
    }
    const event = stripeEvent(document)
    const after: KnownItem = {
      id: item.id,
      productId: item.productId,
      priceId: item.priceId,
      quantity: item.quantity,
      status,
      invoiceId,
      startsAt: item.startsAt,
      endsAt: item.endsAt,
      nextPriceId: item.nextPriceId,
      willRenew: event.willRenew === true,
      isOver: event.endedAt !== null,
      unpaidSince,
      isVoided,
      isPaid: event.paid !== null,
    }
    const typed = { ...document, type: chooseType(before, after) }
    const content = [shared, item, share, graceDays, userId, isRemoved, isVoided]
    return { item: after, delivery: toDelivery(typed, content) }
  }
}

export function toPurchaseKey(environment: StoredEnvironment, { id }: KnownItem): string {
  return `${environment}|${id}`
}

/** False if the invoice is older than the period, as for a product that was added within it. */
function covers(invoice: StripeSubscription['invoice'], { startsAt }: StripeItem): boolean {
  return invoice !== null && invoice.createdAt >= startsAt
}

const FAILED = ['past_due', 'unpaid']

/** What happened since the last response. Of several changes, the history shows only the last one. */
function chooseType(before: KnownItem | undefined, after: KnownItem): string {
  if (after.isOver) return before?.isOver ? 'HOMEPORT_RECONCILED' : 'EXPIRATION'
  if (before === undefined) return 'INITIAL_PURCHASE'
  if (FAILED.includes(after.status))
    return FAILED.includes(before.status) ? 'HOMEPORT_RECONCILED' : 'BILLING_ISSUE'
  const isResumed = before.isOver || FAILED.includes(before.status)
  // The invoice of a renewal is a draft for an hour.
  const isPaidNow = after.isPaid && before.isPaid === false
  if (isResumed || isPaidNow || before.startsAt !== after.startsAt) return 'RENEWAL'
  const isSameOffer = before.priceId === after.priceId && before.quantity === after.quantity
  if (!isSameOffer || before.nextPriceId !== after.nextPriceId) return 'PRODUCT_CHANGE'
  if (before.willRenew !== after.willRenew)
    return after.willRenew ? 'UNCANCELLATION' : 'CANCELLATION'
  return after.endsAt > before.endsAt ? 'SUBSCRIPTION_EXTENDED' : 'HOMEPORT_RECONCILED'
}
