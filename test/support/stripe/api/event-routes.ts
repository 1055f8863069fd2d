import type { Core } from '../core.ts'
import type { FakeEvent } from '../events.ts'
import { invalid, missing } from './errors.ts'
import { listAt, textAt } from './form.ts'
import { isInRange, PAGE_PARAMS, pageOf, rangeParams } from './lists.ts'
import { type Call, type Finder, type Route, retrieval } from './route.ts'

const MAX_TYPES = 20

const LISTS_FOR_CHECKS = {
  customers: 'customer',
  'checkout/sessions': 'checkout_session',
  'billing_portal/configurations': 'customer_portal',
} as const

export function eventRoutes({ objects, events }: Core, find: Finder): Route[] {
  return [
    {
      method: 'GET',
      path: '/v1/events',
      resource: 'event',
      access: 'read',
      params: [...PAGE_PARAMS, ...rangeParams('created'), 'type', 'types.*', 'delivery_success'],
      handle: list,
    },
    {
      method: 'GET',
      path: '/v1/events/:id',
      resource: 'event',
      access: 'read',
      handle: ({ id, isLive }) => {
        const found = events.listRetained(isLive).find((event) => event.id === id)
        if (found === undefined) throw missing('event', id)
        return found
      },
    },
    {
      method: 'GET',
      path: '/v1/webhook_endpoints',
      resource: 'webhook',
      access: 'read',
      params: PAGE_PARAMS,
      handle: ({ params, isLive, path }) =>
        pageOf(
          { all: objects.list('webhook_endpoint', isLive), kind: 'webhook_endpoint' },
          params,
          path,
        ),
    },
    retrieval(find, 'webhook_endpoint', '/v1/webhook_endpoints', 'webhook'),
    // Their objects are not needed, but a list shows whether the key may read them.
    ...Object.entries(LISTS_FOR_CHECKS).map(([path, resource]) => ({
      method: 'GET' as const,
      path: `/v1/${path}`,
      resource,
      access: 'read' as const,
      params: PAGE_PARAMS,
      handle: ({ params, path }: Call) => pageOf({ all: [], kind: resource }, params, path),
    })),
  ]

  function list({ params, isLive, path }: Call) {
    const types = listAt(params, 'types').map(String)
    const type = textAt(params, 'type')
    if (types.length > MAX_TYPES) throw invalid('You may only specify up to 20 types.', 'types')
    if (types.length > 0 && type !== undefined) {
      throw invalid('You may only specify one of these parameters: type, types.', 'type')
    }
    const wanted = type === undefined ? types : [type]
    const success = textAt(params, 'delivery_success')
    const matches = (event: FakeEvent) =>
      (wanted.length === 0 || wanted.some((name) => hasType(event, name))) &&
      (success === undefined || isDelivered(event) === (success === 'true')) &&
      isInRange(event.created, params, 'created')
    return pageOf({ all: events.listRetained(isLive), matches, kind: 'event' }, params, path)
  }
}

/** `customer.*` matches all types with this prefix. */
function hasType({ type }: FakeEvent, wanted: string): boolean {
  return wanted.endsWith('*') ? type.startsWith(wanted.slice(0, -1)) : type === wanted
}

function isDelivered({ pending_webhooks }: FakeEvent): boolean {
  return pending_webhooks === 0
}
