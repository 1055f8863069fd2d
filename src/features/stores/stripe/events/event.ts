import { DAY_MS } from '../../../../lib/time/durations.ts'
import type { StoredEnvironment } from '../../../billing/environment.ts'
import { type BillingEvent, NO_EVENT } from '../../../billing/inbox/event.ts'
import { unreadable } from '../../../billing/inbox/event-problem.ts'
import { toMoney } from '../api/currencies.ts'
import type { StripeItem, StripeSubscription } from './state.ts'

/** A response about one item of a subscription. Times in ms. */
export type SubscriptionDocument = {
  subscription: Omit<StripeSubscription, 'items'>
  item: StripeItem
  /** The item's share of the invoice. */
  share: number
  /** The invoice for the period: the latest invoice may be for a change within the period. */
  invoiceId: string | null
  environment: StoredEnvironment
  type: string
  askedAt: number
  /** The time that orders the event, if the clock was ahead at an earlier response. */
  orderedAt?: number
  graceDays: number
  /** Since when payments have failed: access lasts only through one grace period. */
  unpaidSince?: number
  userId?: string
  /** The invoice of the period was voided. */
  isVoided?: true
  /** The item is no longer part of the subscription. */
  isRemoved?: true
}

/** A charge that was refunded, fully or in part, or whose refund was reversed. Times in ms. */
export type ChargeDocument = {
  charge: string
  invoice: string
  itemId: string
  environment: StoredEnvironment
  type: 'REFUND' | 'REFUND_REVERSED' | 'STRIPE_PARTIAL_REFUND'
  at: number
  reason: string
  /** For this item, in the smallest unit of the currency; null for nothing. Earlier versions stated it for all items. */
  paidBack: { amount: number; currency: string } | null
}

type NotificationDocument = {
  notification: { id: string; type: string; at: number | null; object: string }
  environment: StoredEnvironment
}

type UnreadableDocument = { unreadable: string; askedAt: number }

export type StripeDocument =
  | SubscriptionDocument
  | ChargeDocument
  | UnreadableDocument
  | NotificationDocument

export function stripeEvent(document: StripeDocument): BillingEvent {
  if ('notification' in document) return notificationEvent(document)
  if ('charge' in document) return chargeEvent(document)
  if ('unreadable' in document) return unreadableEvent(document)
  return subscriptionEvent(document)
}

/** Describes the purchase as it is now, whatever was known before. */
function subscriptionEvent(document: SubscriptionDocument): BillingEvent {
  const { subscription, item, share, invoiceId, environment, type, askedAt, userId } = document
  const { invoice } = subscription
  const at = document.orderedAt ?? askedAt
  const state = describeState(document)
  return {
    ...NO_EVENT,
    id: `${item.id}:${at}`,
    type,
    at,
    environment,
    hasEnvironment: true,
    store: 'STRIPE',
    stated: 'full',
    appUserId: userId ?? null,
    isSuggestedOwner: true,
    productId: item.productId,
    newProductId: item.nextPriceId,
    priceId: item.priceId,
    quantity: item.quantity,
    periodType: subscription.status === 'trialing' ? 'TRIAL' : 'NORMAL',
    price: item.currency === 'USD' ? (item.amount * item.quantity) / 100 : null,
    paid:
      invoice?.status === 'paid' && invoice.id === invoiceId
        ? toMoney(invoice.currency, invoice.paid * share)
        : null,
    startedAt: subscription.startedAt,
    purchasedAt: item.startsAt,
    transactionId: invoiceId,
    originalTransactionId: item.id,
    ...state,
    // A test clock may be ahead of this server's.
    endedAt: state.endedAt === null ? null : Math.min(state.endedAt, askedAt),
  }
}

type State = Partial<BillingEvent> & Pick<BillingEvent, 'endedAt'>

const RUNNING: State = { willRenew: true, endedAt: null }

const UNPAID = { cancelReason: 'BILLING_ERROR', expirationReason: 'BILLING_ERROR' }
const PAUSED = { willRenew: false, expirationReason: 'SUBSCRIPTION_PAUSED' }

/** https://docs.stripe.com/billing/subscriptions/overview#subscription-statuses */
function describeState(document: SubscriptionDocument): State {
  const { subscription, item, askedAt } = document
  const { status, pause } = subscription
  const resumesAt = pause?.resumesAt ?? null
  if (document.isRemoved || item.quantity === 0) {
    return {
      ...RUNNING,
      ...endAt(askedAt),
      expiresAt: item.endsAt,
      expirationReason: 'UNSUBSCRIBE',
    }
  }
  const running = { ...RUNNING, ...describeCancellation(subscription, item) }
  switch (status) {
    case 'past_due':
      return { ...running, ...describeUnpaid(document), billingIssueAt: askedAt }
    case 'unpaid': {
      const unpaid = describeUnpaid(document)
      const ended = endAt(Math.min(askedAt, unpaid.graceExpiresAt))
      return { ...running, ...unpaid, ...ended, ...UNPAID, billingIssueAt: askedAt }
    }
    case 'paused':
      return {
        ...running,
        ...PAUSED,
        endedAt: subscription.pausedAt ?? askedAt,
        autoResumeAt: resumesAt,
      }
    case 'canceled':
      return { ...running, ...describeEnd(document) }
    default: {
      if (pause?.behavior !== 'void') return running
      const ended = document.isVoided ? { ...PAUSED, endedAt: item.startsAt } : {}
      return { ...running, willRenew: false, autoResumeAt: resumesAt, ...ended }
    }
  }
}

/** In the flexible billing mode, a cancellation at the end of the period has only a date. */
function describeCancellation(
  { cancelAt, cancelAtPeriodEnd, cancelledAt }: SubscriptionDocument['subscription'],
  { endsAt }: StripeItem,
) {
  const isCancelled = cancelAtPeriodEnd || (cancelAt !== null && cancelAt <= endsAt)
  if (!isCancelled) return { expiresAt: endsAt }
  return {
    expiresAt: Math.min(endsAt, cancelAt ?? endsAt),
    willRenew: false,
    cancelReason: 'UNSUBSCRIBE',
    unsubscribedAt: cancelledAt,
  }
}

/** The current period is not paid: access lasts as long as Stripe retries the payment. */
function describeUnpaid(document: SubscriptionDocument) {
  const due = document.unpaidSince ?? findDueDate(document.subscription, document.item)
  return { expiresAt: due, graceExpiresAt: due + document.graceDays * DAY_MS }
}

/** When the failed payment was due: at the start of its period, unless it is for a change within a period. */
export function findDueDate(
  { invoice }: SubscriptionDocument['subscription'],
  { startsAt }: StripeItem,
): number {
  return invoice !== null && !invoice.isOfCycle ? invoice.createdAt : startsAt
}

function describeEnd(document: SubscriptionDocument) {
  const { subscription, askedAt } = document
  const endedAt = subscription.endedAt ?? askedAt
  const { cancelReason: reason } = subscription
  if (reason === 'payment_failed') {
    const unpaid = describeUnpaid(document)
    return { ...unpaid, ...endAt(Math.min(endedAt, unpaid.graceExpiresAt)), ...UNPAID }
  }
  const cause = reason === 'payment_disputed' ? 'CUSTOMER_SUPPORT' : 'UNSUBSCRIBE'
  return { ...endAt(endedAt), cancelReason: cause, expirationReason: cause }
}

function endAt(endedAt: number) {
  return { endedAt, willRenew: false }
}

/** The refund of a whole invoice ends access, if it is for the current period. */
function chargeEvent(document: ChargeDocument): BillingEvent {
  const { charge, invoice, itemId, environment, type, at, reason, paidBack } = document
  return {
    ...NO_EVENT,
    id: `${type.toLowerCase()}:${charge}:${itemId}:${at}`,
    type,
    at,
    environment,
    hasEnvironment: true,
    store: 'STRIPE',
    transactionId: invoice,
    originalTransactionId: itemId,
    cancelReason: reason,
    paidBack: paidBack && toMoney(paidBack.currency, paidBack.amount),
  }
}

/** The event itself has no effect: Homeport then queries the subscription. */
function notificationEvent({ notification, environment }: NotificationDocument): BillingEvent {
  return {
    ...NO_EVENT,
    id: notification.id,
    type: `STRIPE_${notification.type.toUpperCase().replaceAll('.', '_')}`.slice(0, 255),
    at: notification.at,
    environment,
    hasEnvironment: true,
    store: 'STRIPE',
  }
}

function unreadableEvent({ unreadable: id, askedAt }: UnreadableDocument): BillingEvent {
  return {
    ...NO_EVENT,
    // The query is repeated every ten minutes, but recorded once a day.
    id: `unreadable:${id}:${Math.floor(askedAt / DAY_MS)}`,
    type: 'STRIPE_UNREADABLE',
    at: askedAt,
    store: 'STRIPE',
    problem: unreadable('status'),
  }
}
