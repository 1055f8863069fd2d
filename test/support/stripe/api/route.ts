import type { Core } from '../core.ts'
import type { Kind, StripeObject } from '../object-store.ts'
import { invalid, missing } from './errors.ts'
import { listNames, type Params } from './form.ts'
import type { Access, Resource } from './keys.ts'

/** A request to an endpoint: `id` from its path. */
export type Call = { id: string; params: Params; isLive: boolean; path: string }

/** `params` are the accepted names, with `*` for the indexes of arrays and the names of metadata. */
export type Route = {
  method: 'GET' | 'POST' | 'DELETE'
  path: string
  resource: Resource
  access: Access
  params?: string[]
  required?: string[]
  handle: (call: Call) => object
}

/** Refuses parameters that the route does not know, and requires those that it needs. */
export function checkParams({ params = [], required = [] }: Route, sent: Params) {
  for (const { name, sent: written } of listNames(sent)) {
    if (name === 'expand.*' || params.some((pattern) => matchesName(pattern, name))) continue
    throw invalid(`Received unknown parameter: ${written}`, written, 'parameter_unknown')
  }
  for (const name of required) {
    if (sent[name] !== undefined) continue
    throw invalid(`Missing required param: ${name}.`, name, 'parameter_missing')
  }
}

/** `metadata.*` also matches names with dots. */
function matchesName(pattern: string, name: string): boolean {
  if (pattern.endsWith('metadata.*')) {
    const prefix = pattern.slice(0, -1)
    return name.startsWith(prefix) && name.length > prefix.length
  }
  return pattern === name
}

export type Finder = ReturnType<typeof createFinder>

/** Finds objects of the key's mode; refuses others as Stripe does. */
export function createFinder({ objects }: Core) {
  return find

  function find<K extends Kind>(
    kind: K,
    id: string,
    isLive: boolean,
    options: { param?: string; status?: number } = {},
  ) {
    const found = objects.find(kind, id)
    const otherMode = isLive ? 'test' : 'live'
    if (found === undefined) throw missing(kind, id, options)
    if (objects.isLive(id) !== isLive) throw missing(kind, id, { ...options, otherMode })
    return found
  }
}

/** A route that reads one object. */
export function retrieval(find: Finder, kind: Kind, path: string, resource: Resource): Route {
  return {
    method: 'GET',
    path: `${path}/:id`,
    resource,
    access: 'read',
    handle: ({ id, isLive }): StripeObject => find(kind, id, isLive),
  }
}
