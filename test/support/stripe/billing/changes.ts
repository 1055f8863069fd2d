import type Stripe from 'stripe'
import type { Core, Proration } from '../core.ts'
import { planFromPrice } from '../objects/catalog.ts'
import { createItemObject } from '../objects/subscription.ts'
import type { Invoices } from './invoices.ts'
import { endOfPeriod, hasSameInterval } from './periods.ts'
import { periodEnd, type Subscriptions } from './subscriptions.ts'

export type Changes = ReturnType<typeof createChanges>

/** `status` is that of the subscription at the time. */
export type Removal = {
  item: Stripe.SubscriptionItem
  at: number
  status: Stripe.Subscription.Status
}
type Target = { price?: Stripe.Price; quantity?: number }

/** Changes to a subscription's items, and to whether its payments are collected. */
export function createChanges(core: Core, invoices: Invoices, subscriptions: Subscriptions) {
  const { objects, timeline, events } = core
  const removed: Removal[] = []
  return { changeItem, addItem, removeItem, removed, pauseCollection, resumeCollection, resume }

  /** Switches an item to another price or quantity. Another interval starts a new period. */
  function changeItem(
    subscription: Stripe.Subscription,
    item: Stripe.SubscriptionItem,
    { price = item.price, quantity = item.quantity ?? 1 }: Target,
    proration: Proration = 'create_prorations',
  ) {
    const before = { price: item.price, quantity: item.quantity ?? 1 }
    const isTrial = subscription.status === 'trialing'
    const isNewPeriod = !hasSameInterval(before.price, price) && !isTrial
    const end = item.current_period_end
    if (!isTrial && proration !== 'none') {
      const after = isNewPeriod ? { price, quantity: 0 } : { price, quantity }
      invoices.prorate(item, before, after, end)
    }
    events.update('customer.subscription.updated', subscription, () => {
      Object.assign(item, { price, plan: planFromPrice(price), quantity })
      if (isNewPeriod) restartPeriod(subscription)
    })
    if (isNewPeriod) return void bill(subscription)
    if (proration === 'always_invoice' && !isTrial) subscriptions.invoiceNow(subscription, [])
  }

  function addItem(
    subscription: Stripe.Subscription,
    price: Stripe.Price,
    quantity = 1,
  ): Stripe.SubscriptionItem {
    const item = createItemObject({
      id: objects.createId('si'),
      created: timeline.now(),
      subscription: subscription.id,
      price,
      quantity,
      start: timeline.now(),
      end: periodEnd(subscription),
    })
    if (subscription.status !== 'trialing') {
      const nothing = { price, quantity: 0 }
      invoices.prorate(item, nothing, { price, quantity }, item.current_period_end)
    }
    events.update('customer.subscription.updated', subscription, () => {
      subscription.items.data.push(item)
    })
    return item
  }

  function removeItem(subscription: Stripe.Subscription, item: Stripe.SubscriptionItem) {
    const { data } = subscription.items
    if (data.length < 2) throw new Error('the last item cannot be removed')
    const { price, quantity = 1, current_period_end } = item
    if (subscription.status !== 'trialing') {
      invoices.prorate(item, { price, quantity }, { price, quantity: 0 }, current_period_end)
    }
    removed.push({ item, at: timeline.now(), status: subscription.status })
    events.update('customer.subscription.updated', subscription, () => {
      data.splice(data.indexOf(item), 1)
    })
  }

  /** Stops collecting payments; the status stays the same. `resumesAt` in seconds. */
  function pauseCollection(
    subscription: Stripe.Subscription,
    behavior: 'void' | 'mark_uncollectible' | 'keep_as_draft',
    resumesAt: number | null = null,
  ) {
    const pause = { behavior, resumes_at: resumesAt }
    events.update('customer.subscription.updated', subscription, () => {
      subscription.pause_collection = pause
    })
    if (resumesAt === null) return
    timeline.schedule(resumesAt, () => {
      if (subscription.pause_collection === pause) resumeCollection(subscription)
    })
  }

  function resumeCollection(subscription: Stripe.Subscription) {
    events.update('customer.subscription.updated', subscription, () => {
      subscription.pause_collection = null
    })
  }

  /** Ends the status `paused` once the invoice of a new period is paid. */
  function resume(subscription: Stripe.Subscription) {
    if (subscription.status !== 'paused') throw new Error('the subscription is not paused')
    events.update('customer.subscription.updated', subscription, () => restartPeriod(subscription))
    bill(subscription)
  }

  function restartPeriod(subscription: Stripe.Subscription) {
    const now = timeline.now()
    subscription.billing_cycle_anchor = now
    for (const item of subscription.items.data) {
      item.current_period_start = now
      item.current_period_end = endOfPeriod(item.price, now, now)
    }
    if (subscription.cancel_at_period_end) subscription.cancel_at = periodEnd(subscription)
  }

  function bill(subscription: Stripe.Subscription) {
    const lines = invoices.recurringLines(subscription.items.data)
    subscriptions.planEndOfPeriod(subscription)
    return subscriptions.invoiceNow(subscription, lines)
  }
}
