import type { Static, TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { AppError } from './errors.ts'

/** `value` as the schema says, or `validation_failed` with the paths that are wrong, under `root`. */
export function check<T extends TSchema>(schema: T, value: unknown, root: string): Static<T> {
  if (Value.Check(schema, value)) return value
  const details = [...Value.Errors(schema, value)].slice(0, 20).map((fault) => ({
    path: `${root}${fault.path}`.replaceAll('/', '.'),
    message: typeof fault.schema['error'] === 'string' ? fault.schema['error'] : fault.message,
  }))
  throw new AppError('validation_failed', `The ${root} are not as they must be.`, { details })
}
