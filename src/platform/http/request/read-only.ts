import { KindGuard, type TObject, type TSchema } from '@sinclair/typebox'
import { t } from 'elysia'
import { type ErrorDetail, invalidFields } from '../../../lib/errors.ts'

/** Not documented in requests, because it changes nothing. */
const readOnly = t.Optional(t.Unknown({ readOnly: true }))

/** A merge patch schema that also accepts the read-only members of `whole`, for clients that send back what they read. */
export function withReadOnly<T extends TObject>(patch: T, whole: TObject): T {
  const properties = Object.entries(whole.properties).map(([name, inWhole]) => {
    const { [name]: property = readOnly } = patch.properties
    const variants = property['anyOf']?.map((one: TSchema) =>
      KindGuard.IsObject(one) && KindGuard.IsObject(inWhole) ? withReadOnly(one, inWhole) : one,
    )
    return [name, variants ? { ...property, anyOf: variants } : property]
  })
  return { ...patch, properties: { ...patch.properties, ...Object.fromEntries(properties) } }
}

/** Keeps the members of a patch that are in `schema`. Throws `validation_failed` if any other differs from `current`. */
export function withoutReadOnly<T extends object>(schema: TObject, sent: T, current: object): T {
  const errors: ErrorDetail[] = []
  const patch = withoutOthers(schema, sent, current, '')
  if (errors.length > 0) throw invalidFields(errors)
  return patch as T

  function withoutOthers(
    { properties }: TObject,
    sent: object,
    current: object,
    root: string,
  ): object {
    const now: Record<string, unknown> = { ...current }
    const members = Object.entries(sent).flatMap(([name, value]) => {
      const property = properties[name]
      if (property === undefined) {
        if (!Bun.deepEquals(value, now[name]))
          errors.push({ path: root + name, message: 'cannot be changed' })
        return []
      }
      const inner = value === null ? undefined : property['anyOf']?.find(KindGuard.IsObject)
      const path = `${root}${name}.`
      return [[name, inner ? withoutOthers(inner, value, Object(now[name]), path) : value]]
    })
    return Object.fromEntries(members)
  }
}
