import type Stripe from 'stripe'
import type { Core } from '../core.ts'
import {
  createItemObject,
  createSubscriptionObject,
  type MissingPaymentMethod,
} from '../objects/subscription.ts'
import type { Collection } from './collection.ts'
import type { Invoices } from './invoices.ts'
import { DAY, endOfPeriod, HOUR } from './periods.ts'

type StartOptions = {
  customer: Stripe.Customer
  items: { price: Stripe.Price; quantity: number }[]
  metadata?: Stripe.Metadata
  trialDays?: number
  /** Null for a trial without a card. */
  paymentMethod: string | null
  missingPaymentMethod?: MissingPaymentMethod
  isFlexible?: boolean
}
type PauseReason = 'pause_requested' | 'trial_end_without_payment_method' | 'final_payment_failure'
export type Subscriptions = ReturnType<typeof createSubscriptions>

/** How long the first payment may take. */
const INCOMPLETE_TIME = 23 * HOUR
const RUNNING = ['trialing', 'active', 'past_due', 'unpaid']

/** Subscriptions from their start to their end, period by period. */
export function createSubscriptions(core: Core, invoices: Invoices, collection: Collection) {
  const { objects, timeline, events } = core
  const subscriptions = {
    start,
    cancel,
    setCancelAt,
    undoCancel,
    pause,
    planEndOfPeriod,
    invoiceNow,
  }
  collection.onActivated((subscription) => planEndOfPeriod(subscription))
  collection.onGivenUp((subscription) => giveUp(subscription))
  /** Applies what a schedule plans for the next period. */
  const schedules = { apply: (_: Stripe.Subscription) => {}, end: (_: Stripe.Subscription) => {} }
  return { ...subscriptions, schedules }

  function start(options: StartOptions): Stripe.Subscription {
    const { customer, metadata = {}, trialDays = 0, paymentMethod, isFlexible = true } = options
    const { missingPaymentMethod = 'cancel' } = options
    const now = timeline.now()
    const id = objects.createId('sub')
    const trialEnd = trialDays > 0 ? now + trialDays * DAY : null
    const items = options.items.map(({ price, quantity }) =>
      createItemObject({
        id: objects.createId('si'),
        created: now,
        subscription: id,
        price,
        quantity,
        start: now,
        end: trialEnd ?? endOfPeriod(price, now, now),
      }),
    )
    const subscription = createSubscriptionObject({
      id,
      created: now,
      livemode: customer.livemode,
      customer: customer.id,
      currency: items[0]?.price.currency ?? 'usd',
      status: trialEnd === null ? 'incomplete' : 'trialing',
      isFlexible,
      items,
      metadata,
      paymentMethod,
      trialEnd,
      missingPaymentMethod,
    })
    customer.currency ??= subscription.currency
    objects.add('subscription', subscription, customer.livemode)
    const lines = invoices.recurringLines(items, trialEnd !== null)
    const invoice = invoices.draft(subscription, 'subscription_create', lines, {
      isImmediate: true,
    })
    subscription.latest_invoice = invoice.id
    events.emit('customer.subscription.created', subscription)
    invoices.finalize(invoice)
    if (trialEnd !== null) planEndOfPeriod(subscription)
    else planExpiry(subscription, INCOMPLETE_TIME)
    collection.collect(subscription, invoice)
    return subscription
  }

  function planExpiry(subscription: Stripe.Subscription, wait: number) {
    timeline.schedule(timeline.now() + wait, () => expireIncomplete(subscription))
  }

  function expireIncomplete(subscription: Stripe.Subscription) {
    if (subscription.status !== 'incomplete') return
    if (collection.isProcessing(subscription)) return planExpiry(subscription, HOUR)
    const invoice = objects.read('invoice', subscription.latest_invoice as string)
    if (invoice.status === 'open') invoices.voidInvoice(invoice)
    events.update('customer.subscription.updated', subscription, () => {
      subscription.status = 'incomplete_expired'
      subscription.ended_at = timeline.now()
    })
  }

  function planEndOfPeriod(subscription: Stripe.Subscription) {
    const end = periodEnd(subscription)
    timeline.schedule(Math.max(end, timeline.now()), () => {
      if (periodEnd(subscription) === end) endPeriod(subscription)
    })
  }

  function endPeriod(subscription: Stripe.Subscription) {
    if (!RUNNING.includes(subscription.status)) return
    const now = timeline.now()
    if (subscription.cancel_at !== null && subscription.cancel_at <= now) {
      end(subscription, 'cancellation_requested')
    } else if (subscription.status === 'trialing' && collection.methodOf(subscription) === null) {
      endTrialWithoutCard(subscription)
    } else {
      beginPeriod(subscription, periodEnd(subscription))
    }
  }

  function endTrialWithoutCard(subscription: Stripe.Subscription) {
    const behavior = subscription.trial_settings?.end_behavior.missing_payment_method
    if (behavior === 'cancel') end(subscription, null)
    else if (behavior === 'pause') pause(subscription, 'trial_end_without_payment_method')
    else beginPeriod(subscription, periodEnd(subscription))
  }

  /** Begins the next period, whose invoice stays a draft for an hour. */
  function beginPeriod(subscription: Stripe.Subscription, start: number) {
    let invoice: Stripe.Invoice | undefined
    events.update('customer.subscription.updated', subscription, () => {
      schedules.apply(subscription)
      for (const item of subscription.items.data) {
        item.current_period_start = start
        item.current_period_end = endOfPeriod(item.price, subscription.billing_cycle_anchor, start)
      }
      if (subscription.status === 'trialing') subscription.status = 'active'
      const lines = invoices.recurringLines(subscription.items.data)
      invoice = invoices.draft(subscription, 'subscription_cycle', lines, { isImmediate: false })
      subscription.latest_invoice = invoice.id
    })
    planEndOfPeriod(subscription)
    if (invoice) finalizeLater(subscription, invoice)
  }

  function finalizeLater(subscription: Stripe.Subscription, invoice: Stripe.Invoice) {
    if (subscription.status === 'unpaid') invoices.keepAsDraft(invoice)
    if (subscription.pause_collection?.behavior === 'keep_as_draft') invoices.keepAsDraft(invoice)
    const at = invoice.automatically_finalizes_at
    if (at === null) return
    timeline.schedule(at, () => {
      if (invoice.status !== 'draft' || invoice.automatically_finalizes_at !== at) return
      const behavior = subscription.pause_collection?.behavior
      if (behavior === 'keep_as_draft') return invoices.keepAsDraft(invoice)
      invoices.finalize(invoice)
      if (behavior === undefined) return collection.collect(subscription, invoice)
      if (behavior === 'void') invoices.voidInvoice(invoice)
      else invoices.markUncollectible(invoice)
      collection.heal(subscription, invoice)
    })
  }

  /** An invoice outside the cycle, collected immediately. */
  function invoiceNow(subscription: Stripe.Subscription, lines: Stripe.InvoiceLineItem[]) {
    const invoice = invoices.draft(subscription, 'subscription_update', lines, {
      isImmediate: true,
    })
    events.update('customer.subscription.updated', subscription, () => {
      subscription.latest_invoice = invoice.id
    })
    invoices.finalize(invoice)
    collection.collect(subscription, invoice)
    return invoice
  }

  /** Cancels at `at`, or at the end of the period. In flexible mode only `cancel_at` is set. */
  function setCancelAt(subscription: Stripe.Subscription, at = periodEnd(subscription)) {
    events.update('customer.subscription.updated', subscription, () => {
      const isAtEnd = at === periodEnd(subscription)
      subscription.cancel_at_period_end = isAtEnd && subscription.billing_mode.type === 'classic'
      subscription.cancel_at = at
      subscription.canceled_at = timeline.now()
      setReason(subscription, 'cancellation_requested')
    })
    timeline.schedule(at, () => {
      if (subscription.cancel_at === at && !isOver(subscription)) {
        end(subscription, 'cancellation_requested')
      }
    })
  }

  function undoCancel(subscription: Stripe.Subscription) {
    events.update('customer.subscription.updated', subscription, () => {
      Object.assign(subscription, {
        cancel_at: null,
        cancel_at_period_end: false,
        canceled_at: null,
      })
      setReason(subscription, null)
    })
  }

  function cancel(
    subscription: Stripe.Subscription,
    reason: Stripe.Subscription.CancellationDetails.Reason = 'cancellation_requested',
  ) {
    if (isOver(subscription)) throw new Error(`subscription ${subscription.id} is over`)
    end(subscription, reason)
  }

  function end(
    subscription: Stripe.Subscription,
    reason: Stripe.Subscription.CancellationDetails.Reason | null,
  ) {
    const now = timeline.now()
    schedules.end(subscription)
    subscription.status = 'canceled'
    subscription.canceled_at ??= now
    subscription.ended_at = now
    subscription.pause_collection = null
    delete subscription.status_details
    setReason(subscription, reason)
    for (const invoice of invoices.listOfSubscription(subscription.id)) {
      if (invoice.status === 'draft') invoices.keepAsDraft(invoice)
      if (invoice.status === 'open') invoice.next_payment_attempt = null
    }
    events.emit('customer.subscription.deleted', subscription)
  }

  /** Sets the status `paused`, which is not `pause_collection`. */
  function pause(subscription: Stripe.Subscription, reason: PauseReason) {
    for (const invoice of invoices.listOfSubscription(subscription.id)) {
      if (invoice.status === 'draft') invoices.keepAsDraft(invoice)
    }
    events.update('customer.subscription.updated', subscription, () => {
      subscription.status = 'paused'
      subscription.status_details = {
        paused: {
          subscription: { type: reason },
          transitioned_at: timeline.now(),
          type: 'subscription',
        },
      }
    })
    events.emit('customer.subscription.paused', subscription)
  }

  /** Applies the account's setting for failed payments after the last retry. */
  function giveUp(subscription: Stripe.Subscription) {
    const { afterRetries } = core.account
    if (afterRetries === 'cancel') end(subscription, 'payment_failed')
    if (afterRetries === 'pause') pause(subscription, 'final_payment_failure')
    if (afterRetries === 'unpaid') {
      events.update('customer.subscription.updated', subscription, () => {
        subscription.status = 'unpaid'
      })
    }
  }
}

/** The end of the item that ends first. */
export function periodEnd({ items }: Stripe.Subscription): number {
  return Math.min(...items.data.map(({ current_period_end }) => current_period_end))
}

export function isOver({ status }: Stripe.Subscription): boolean {
  return status === 'canceled' || status === 'incomplete_expired'
}

function setReason(
  subscription: Stripe.Subscription,
  reason: Stripe.Subscription.CancellationDetails.Reason | null,
) {
  const empty = { comment: null, feedback: null, feedback_option: null }
  subscription.cancellation_details = { ...empty, ...subscription.cancellation_details, reason }
}
