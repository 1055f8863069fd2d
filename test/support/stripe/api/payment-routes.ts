import type { Core } from '../core.ts'
import type { Kind } from '../object-store.ts'
import { type Params, textAt } from './form.ts'
import type { Resource } from './keys.ts'
import { isInRange, PAGE_PARAMS, pageOf, rangeParams } from './lists.ts'
import { type Finder, type Route, retrieval } from './route.ts'

type Listed = Extract<
  Kind,
  | 'price'
  | 'subscription_schedule'
  | 'invoice'
  | 'invoice_payment'
  | 'charge'
  | 'refund'
  | 'dispute'
  | 'payment_intent'
>

/** The read-only resources: prices, schedules, invoices and their payments, charges, refunds and disputes. */
export function paymentRoutes({ objects }: Core, find: Finder): Route[] {
  return [
    ...read('price', '/v1/prices', 'plan', ['product', 'active']),
    ...read('subscription_schedule', '/v1/subscription_schedules', 'subscription_schedule', [
      'customer',
    ]),
    ...read('invoice', '/v1/invoices', 'invoice', ['customer', 'subscription', 'status']),
    ...read('invoice_payment', '/v1/invoice_payments', 'invoice', [
      'invoice',
      'status',
      'payment.type',
      'payment.payment_intent',
    ]),
    ...read('payment_intent', '/v1/payment_intents', 'payment_intent', ['customer']),
    ...read('charge', '/v1/charges', 'charge', ['customer', 'payment_intent']),
    ...read('refund', '/v1/refunds', 'charge', ['charge', 'payment_intent']),
    ...read('dispute', '/v1/disputes', 'dispute', ['charge', 'payment_intent']),
    retrieval(find, 'product', '/v1/products', 'product'),
  ]

  /** A route that lists objects by filters, and a route that reads one object. */
  function read(kind: Listed, path: string, resource: Resource, filters: string[]): Route[] {
    return [
      {
        method: 'GET',
        path,
        resource,
        access: 'read',
        params: [...PAGE_PARAMS, ...rangeParams('created'), ...filters],
        handle: ({ params, isLive }) => {
          const isWanted = (one: { created: number }) =>
            filters.every((name) => matches(one, name, params)) &&
            isInRange(one.created, params, 'created')
          return pageOf({ all: objects.list(kind, isLive), matches: isWanted, kind }, params, path)
        },
      },
      retrieval(find, kind, path, resource),
    ]
  }
}

function matches(object: object, name: string, params: Params): boolean {
  const wanted = textAt(params, name)
  return wanted === undefined || String(fieldAt(object, name)) === wanted
}

function fieldAt(object: object, name: string): unknown {
  if ('parent' in object && name === 'subscription') {
    return fieldAt(object.parent as object, 'subscription_details.subscription')
  }
  let value: unknown = object
  for (const part of name.split('.')) value = (value as Record<string, unknown> | null)?.[part]
  return value
}
