import { type AnyElysia, Elysia, type TSchema, t } from 'elysia'
import { invalidField } from '../../../lib/errors.ts'
import { readTarget } from './request-url.ts'

/** The query of a page, public read or file: ignores other parameters, which mail and ad services add to links. */
export function openQuery<T extends Record<string, TSchema>>(properties: T) {
  return t.Object(properties, { additionalProperties: true })
}

/** Refuses a declared parameter that is sent twice: a proxy and this server could read different values. */
export function singleParameters(app: AnyElysia) {
  return new Elysia({ name: 'single-parameters' }).onBeforeHandle(
    { as: 'global' },
    function requireSingle({ request, route }) {
      // Searching the URL first is faster than finding its query.
      if (request.url.includes('&')) rejectRepeated(request, route)
    },
  )

  function rejectRepeated(request: Request, route: string) {
    const repeated = findRepeated(readTarget(request).split('?')[1])
    if (repeated.length === 0) return
    const method = request.method === 'HEAD' ? 'GET' : request.method
    const known = app.routes.find((one) => one.path === route && one.method === method)
    const declared = (known?.hooks['query'] as TSchema | undefined)?.['properties'] ?? {}
    const name = repeated.find((one) => Object.hasOwn(declared, one))
    if (name !== undefined) throw invalidField(name, 'must be sent only once')
  }
}

export function findRepeated(parameters: string | undefined): string[] {
  if (!parameters?.includes('&')) return []
  const names = [...new URLSearchParams(parameters).keys()]
  return names.filter((name, at) => names.indexOf(name) !== at)
}
