import type Stripe from 'stripe'
import type { Billing } from './billing/billing.ts'
import type { Removal } from './billing/changes.ts'
import { DAY } from './billing/periods.ts'
import type { Core } from './core.ts'
import { unitsOf } from './currencies.ts'

/** The correct state of one subscription item, derived from the stored objects alone. Times are in milliseconds. */
export type ExpectedState = {
  /** Homeport's key of the purchase. */
  key: string
  item: string
  subscription: string
  customer: string
  /** `homeport_user` and `homeport_server` of the subscription, or else of its customer. */
  userId: string | null
  serverId: string | null
  status: Stripe.Subscription.Status
  product: string
  price: string
  /** The price of the next phase of a schedule. */
  pendingPrice: string | null
  quantity: number
  /** The invoice of the period; null for an item that was added within it. */
  transactionId: string | null
  /** What was paid for the period, in units of the currency. */
  paid: { amount: number; currency: string } | null
  startsAt: number
  expiresAt: number
  graceExpiresAt: number | null
  endedAt: number | null
  resumesAt: number | null
  isTrial: boolean
  willRenew: boolean
  hasBillingIssue: boolean
  isPaused: boolean
  isRefunded: boolean
  isEnded: boolean
  hasAccess: boolean
}

type Dates = { expiresAt: number; graceExpiresAt?: number; endedAt?: number }
export type ExpectedStateOptions = { graceDays?: number }

/** The statuses of invoices that are no longer collected. */
const PAID_OR_CLOSED = ['paid', 'void', 'uncollectible']

/** Determines the access that customers should have now. */
export function createExpectedStates({ objects, timeline }: Core, billing: Billing) {
  return { all, ofSubscription }

  /** The state of every item that was ever paid for or tried. */
  function all(options: ExpectedStateOptions = {}): ExpectedState[] {
    timeline.runDue()
    return [true, false].flatMap((isLive) =>
      objects.list('subscription', isLive).flatMap((one) => itemsOf(one, options)),
    )
  }

  function ofSubscription(subscription: Stripe.Subscription, options: ExpectedStateOptions = {}) {
    timeline.runDue()
    return itemsOf(subscription, options)
  }

  function itemsOf(
    subscription: Stripe.Subscription,
    { graceDays = 14 }: ExpectedStateOptions,
  ): ExpectedState[] {
    if (subscription.status.startsWith('incomplete')) return []
    const removed = billing.changes.removed.filter(
      ({ item }) => item.subscription === subscription.id,
    )
    return [
      ...removed.map((removal) => describe(subscription, removal.item, graceDays, removal)),
      ...subscription.items.data.map((item) => describe(subscription, item, graceDays)),
    ]
  }

  function describe(
    subscription: Stripe.Subscription,
    item: Stripe.SubscriptionItem,
    graceDays: number,
    removal?: Removal,
  ): ExpectedState {
    const now = timeline.now()
    const quantity = item.quantity ?? 1
    const gone = removal?.at ?? (quantity === 0 ? now : undefined)
    const isGone = gone !== undefined
    const dates = { ...datesOf(subscription, item, graceDays * DAY), ...ended(gone) }
    const { expiresAt, graceExpiresAt, endedAt } = dates
    const invoice = invoiceOf(item)
    const isRefunded = invoice !== null && hasLostItsMoney(invoice)
    const isEnded = endedAt !== undefined && endedAt <= now
    const lasts = Math.max(expiresAt, graceExpiresAt ?? 0) > now
    const customer = subscription.customer as string
    const mark = (name: string) => subscription.metadata[name] ?? metadataOf(customer)[name] ?? null
    return {
      key: `${subscription.livemode ? 'PRODUCTION' : 'SANDBOX'}|${item.id}`,
      item: item.id,
      subscription: subscription.id,
      customer,
      userId: mark('homeport_user'),
      serverId: mark('homeport_server'),
      status: subscription.status,
      product: item.price.product as string,
      price: item.price.id,
      pendingPrice: pendingPriceOf(subscription),
      quantity,
      transactionId: invoice?.id ?? null,
      paid: invoice === null ? null : paidFor(item, invoice),
      startsAt: item.current_period_start * 1000,
      expiresAt: expiresAt * 1000,
      graceExpiresAt: toMs(graceExpiresAt),
      endedAt: toMs(endedAt),
      resumesAt: toMs(subscription.pause_collection?.resumes_at ?? undefined),
      isTrial: (removal ?? subscription).status === 'trialing',
      willRenew: !isEnded && willRenew(subscription, item),
      hasBillingIssue: !isGone && ['past_due', 'unpaid'].includes(subscription.status),
      isPaused: !isGone && isEnded && (subscription.status === 'paused' || isVoiding(subscription)),
      isRefunded,
      isEnded,
      hasAccess: !isEnded && !isRefunded && lasts,
    }
  }

  /** When the access ends, in seconds. */
  function datesOf(
    subscription: Stripe.Subscription,
    item: Stripe.SubscriptionItem,
    grace: number,
  ): Dates {
    const now = timeline.now()
    const { current_period_start: start, current_period_end: end } = item
    const expiresAt = Math.min(end, subscription.cancel_at ?? end)
    const due = dueOf(subscription, item)
    switch (subscription.status) {
      case 'past_due':
        return { expiresAt: due, graceExpiresAt: due + grace }
      case 'unpaid':
        return { expiresAt: due, endedAt: Math.min(now, due + grace) }
      case 'paused':
        return { expiresAt, endedAt: subscription.status_details?.paused.transitioned_at ?? now }
      case 'canceled':
        return { expiresAt, endedAt: subscription.ended_at ?? now }
      default: {
        const isVoid = isVoiding(subscription) && invoiceOf(item)?.status === 'void'
        return isVoid ? { expiresAt, endedAt: start } : { expiresAt }
      }
    }
  }

  /** When the payment became due: with the first of the invoices that are not paid. */
  function dueOf({ id }: Stripe.Subscription, item: Stripe.SubscriptionItem): number {
    const invoices = billing.invoices.listOfSubscription(id)
    const lastPaid = invoices.findLastIndex(({ status }) => PAID_OR_CLOSED.includes(String(status)))
    const first = invoices[lastPaid + 1]
    const isOfCycle = first?.billing_reason === 'subscription_cycle'
    if (first === undefined || (isOfCycle && first === invoices.at(-1)))
      return item.current_period_start
    return first.created
  }

  /** The invoice that charges for the item's current period. */
  function invoiceOf(item: Stripe.SubscriptionItem): Stripe.Invoice | null {
    const invoices = billing.invoices.listOfSubscription(item.subscription)
    return invoices.findLast((invoice) => lineOf(item, invoice) !== undefined) ?? null
  }

  function lineOf(item: Stripe.SubscriptionItem, { lines }: Stripe.Invoice) {
    return lines.data.find(({ parent, period }) => {
      const details = parent?.subscription_item_details
      const isOfItem = details?.subscription_item === item.id && !details.proration
      return isOfItem && period.start === item.current_period_start
    })
  }

  /** The item's share of a payment. */
  function paidFor(item: Stripe.SubscriptionItem, invoice: Stripe.Invoice): ExpectedState['paid'] {
    if (invoice.status !== 'paid') return null
    const { currency, total, amount_paid } = invoice
    const share = total === 0 ? 0 : (lineOf(item, invoice)?.amount ?? 0) / total
    return { amount: unitsOf(amount_paid * share, currency), currency }
  }

  /** Refunded in full, or withdrawn by a dispute that is not won. */
  function hasLostItsMoney(invoice: Stripe.Invoice): boolean {
    const charge = billing.payments.chargeOf(invoice)
    if (charge === null) return false
    if (charge.refunded) return true
    if (!charge.disputed) return false
    const disputes = objects
      .list('dispute', charge.livemode)
      .filter((one) => one.charge === charge.id)
    return disputes.some(({ status }) => status === 'needs_response' || status === 'lost')
  }

  function willRenew(subscription: Stripe.Subscription, item: Stripe.SubscriptionItem): boolean {
    const { status, cancel_at } = subscription
    const isCancelling = cancel_at !== null && cancel_at <= item.current_period_end
    const isRunning = ['trialing', 'active', 'past_due'].includes(status)
    return isRunning && !isCancelling && !isVoiding(subscription)
  }

  function pendingPriceOf(subscription: Stripe.Subscription): string | null {
    const phase = billing.schedules.nextPhase(subscription)
    return (phase?.items[0]?.price as string | undefined) ?? null
  }

  function metadataOf(id: string): Stripe.Metadata {
    const customer = objects.find('customer', id)
    return customer === undefined || customer.deleted ? {} : customer.metadata
  }
}

function isVoiding({ pause_collection }: Stripe.Subscription): boolean {
  return pause_collection?.behavior === 'void'
}

function ended(at: number | undefined): { endedAt?: number } {
  return at === undefined ? {} : { endedAt: at }
}

function toMs(seconds: number | undefined): number | null {
  return seconds === undefined ? null : seconds * 1000
}
