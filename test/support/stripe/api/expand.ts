import type { Checkout } from '../checkout.ts'
import type { Core } from '../core.ts'
import { copy } from '../events.ts'
import type { Kind } from '../object-store.ts'
import { listOf } from '../objects/list.ts'
import { createLineItemObject } from '../objects/session.ts'
import { invalid } from './errors.ts'
import type { Resource } from './keys.ts'

type Plain = Record<string, unknown>

const MAX_DEPTH = 4
/** The permission that each kind of object needs when it is expanded. */
const RESOURCE_OF: Partial<Record<string, Resource>> = {
  customer: 'customer',
  subscription: 'subscription',
  subscription_schedule: 'subscription_schedule',
  invoice: 'invoice',
  invoice_payment: 'invoice',
  payment_intent: 'payment_intent',
  payment_method: 'payment_method',
  charge: 'charge',
  refund: 'charge',
  dispute: 'dispute',
  price: 'plan',
  product: 'product',
  'checkout.session': 'checkout_session',
} satisfies Partial<Record<Kind, Resource>>

/** Replaces ids with their objects, as the `expand` parameter requests. */
export function createExpansion({ objects }: Core, checkout: Checkout) {
  return { expand }

  function expand(
    object: object,
    paths: string[],
    authorize: (resource: Resource) => void,
  ): object {
    const plain = copy(object) as Plain
    for (const path of paths) {
      const names = path.split('.')
      if (names.length > MAX_DEPTH) {
        throw invalid('You cannot expand more than 4 levels of a property.', 'expand')
      }
      follow(plain, names, path)
    }
    return plain

    function follow(target: Plain, [name = '', ...rest]: string[], path: string) {
      include(target, name)
      const value = target[name]
      const values = Array.isArray(value) ? value : [value]
      const followed = values.map((one) => followValue(one, rest, path))
      if (value === null) return
      target[name] = Array.isArray(value) ? followed : followed[0]
    }

    function followValue(value: unknown, rest: string[], path: string): unknown {
      const object = typeof value === 'string' ? lookUp(value, path) : value
      if (object === null) return null
      if (typeof object !== 'object') throw notExpandable(path)
      if (rest.length > 0) follow(object as Plain, rest, path)
      return object
    }

    function lookUp(id: string, path: string): object {
      const found = objects.findAny(id)
      if (found === undefined) throw notExpandable(path)
      const resource = RESOURCE_OF[found.object]
      if (resource) authorize(resource)
      return copy(found)
    }
  }

  /** Adds a list that an object contains only on request. */
  function include(target: Plain, name: string) {
    const id = String(target['id'])
    const isLive = objects.isLive(id)
    const path = `${target['object']}.${name}`
    if (path === 'checkout.session.line_items') {
      const lines = checkout.linesOf(checkout.sessionOf(id))
      const items = lines.map((line, at) => createLineItemObject(`li_${id.slice(-20)}${at}`, line))
      target[name] = copy(listOf(items, `/v1/checkout/sessions/${id}/line_items`))
    }
    if (path === 'invoice.payments') {
      const own = objects.list('invoice_payment', isLive).filter(({ invoice }) => invoice === id)
      target[name] = copy(listOf(own, '/v1/invoice_payments'))
    }
    if (path === 'charge.refunds') {
      const own = objects.list('refund', isLive).filter(({ charge }) => charge === id)
      target[name] = copy(listOf(own, `/v1/charges/${id}/refunds`))
    }
    if (path === 'customer.subscriptions') {
      const own = objects
        .list('subscription', isLive)
        .filter(({ customer, status }) => customer === id && status !== 'canceled')
      target[name] = copy(listOf(own, `/v1/customers/${id}/subscriptions`))
    }
  }
}

function notExpandable(path: string) {
  return invalid(`This property cannot be expanded (${path}).`, 'expand')
}
