import type Stripe from 'stripe'
import { isOver, type Subscriptions } from '../billing/subscriptions.ts'
import type { Core } from '../core.ts'
import { invalid, missing } from './errors.ts'
import { type Params, textAt } from './form.ts'
import { isInRange, PAGE_PARAMS, pageOf, rangeParams } from './lists.ts'
import { type Call, type Finder, type Route, retrieval } from './route.ts'

export function subscriptionRoutes(
  { objects }: Core,
  find: Finder,
  subscriptions: Subscriptions,
): Route[] {
  const path = '/v1/subscriptions'
  const resource = 'subscription'
  return [
    {
      method: 'GET',
      path,
      resource,
      access: 'read',
      params: [...PAGE_PARAMS, ...rangeParams('created'), 'customer', 'price', 'status'],
      handle: list,
    },
    retrieval(find, 'subscription', path, resource),
    {
      method: 'POST',
      path: `${path}/:id`,
      resource,
      access: 'write',
      params: ['cancel_at_period_end', 'cancel_at', 'metadata.*'],
      handle: update,
    },
    {
      method: 'DELETE',
      path: `${path}/:id`,
      resource,
      access: 'write',
      params: ['invoice_now', 'prorate', 'cancellation_details.comment'],
      handle: cancel,
    },
    retrieval(find, 'subscription_schedule', '/v1/subscription_schedules', 'subscription_schedule'),
  ]

  function list({ params, isLive, path: url }: Call) {
    const customer = textAt(params, 'customer')
    if (customer !== undefined)
      find('customer', customer, isLive, { param: 'customer', status: 400 })
    const status = textAt(params, 'status')
    const price = textAt(params, 'price')
    const matches = (one: Stripe.Subscription) =>
      (customer === undefined || one.customer === customer) &&
      hasStatus(one, status) &&
      hasPrice(one, price) &&
      isInRange(one.created, params, 'created')
    const all = objects.list('subscription', isLive)
    return pageOf({ all, matches, kind: 'subscription' }, params, url)
  }

  function update({ id, params, isLive }: Call) {
    const subscription = find('subscription', id, isLive)
    if (isOver(subscription)) {
      throw invalid(
        'A canceled subscription can only update its cancellation_details and metadata.',
        undefined,
        'invalid_canceled_subscription_fields',
      )
    }
    Object.assign(subscription.metadata, metadataOf(params))
    const atEnd = textAt(params, 'cancel_at_period_end')
    const at = textAt(params, 'cancel_at')
    if (atEnd === 'true') subscriptions.setCancelAt(subscription)
    else if (at) subscriptions.setCancelAt(subscription, Number(at))
    else if (atEnd === 'false' || at === '') subscriptions.undoCancel(subscription)
    return subscription
  }

  /** A second cancellation finds nothing. */
  function cancel({ id, isLive }: Call) {
    const subscription = find('subscription', id, isLive)
    if (isOver(subscription)) throw missing('subscription', id)
    subscriptions.cancel(subscription)
    return subscription
  }
}

function metadataOf(params: Params): Record<string, string> {
  return (params['metadata'] ?? {}) as Record<string, string>
}

/** By default, matches all but canceled subscriptions. */
function hasStatus({ status }: Stripe.Subscription, wanted: string | undefined): boolean {
  if (wanted === 'all') return true
  if (wanted === undefined) return status !== 'canceled'
  if (wanted === 'ended') return status === 'canceled' || status === 'incomplete_expired'
  return status === wanted
}

function hasPrice({ items }: Stripe.Subscription, wanted: string | undefined): boolean {
  return wanted === undefined || items.data.some(({ price }) => price.id === wanted)
}
