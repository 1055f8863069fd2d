import { type Static, type TSchema, TypeGuard } from '@sinclair/typebox'
import { type ValueError, ValueErrorType } from '@sinclair/typebox/errors'
import { Value } from '@sinclair/typebox/value'
import { AppError, type ErrorDetail } from './errors.ts'

/** Faults of the kind of a value, not of its size or form. */
const KIND_FAULTS = new Set([
  ValueErrorType.Array,
  ValueErrorType.Boolean,
  ValueErrorType.Integer,
  ValueErrorType.Number,
  ValueErrorType.Object,
  ValueErrorType.String,
])

/** Details name at most this many wrong fields. */
const DETAILS_LIMIT = 20

/** `value` as the schema says, or `validation_failed` with the paths that are wrong, under `root`. */
export function check<T extends TSchema>(schema: T, value: unknown, root: string): Static<T> {
  if (Value.Check(schema, value)) return value
  const details = detailsOf(Value.Errors(schema, value), (path) =>
    [root, path].filter(Boolean).join('.'),
  )
  throw new AppError('validation_failed', `The ${root} are invalid.`, { details })
}

/** What is wrong in which place, each place once: what it must be, never what it is. */
export function detailsOf(
  faults: Iterable<ValueError>,
  nameOf: (path: string) => string,
): ErrorDetail[] {
  const found = new Map<string, ErrorDetail>()
  for (const fault of faults) {
    for (const inner of innermost(fault)) {
      const path = nameOf(inner.path.slice(1).replaceAll('/', '.'))
      if (!found.has(path))
        found.set(path, { path: path.slice(0, 100), message: expectation(inner) })
      if (found.size >= DETAILS_LIMIT) return [...found.values()]
    }
  }
  return [...found.values()]
}

/** Of a choice between an object and something else, what is wrong inside of a given object. */
function* innermost(fault: ValueError): Generator<ValueError> {
  const at = isChoice(fault) ? variantFor(fault) : -1
  const inner = at < 0 ? undefined : fault.errors[at]
  if (inner === undefined) yield fault
  else for (const one of inner) yield* innermost(one)
}

function isChoice({ type, schema }: ValueError): boolean {
  return type === ValueErrorType.Union && typeof schema['error'] !== 'string'
}

function variantFor({ schema, value }: ValueError): number {
  const variants = schema['anyOf'] as TSchema[]
  if (Array.isArray(value)) return variants.findIndex(TypeGuard.IsArray)
  if (value === null || typeof value !== 'object') return -1
  return variants.findIndex((one) => TypeGuard.IsObject(one) || TypeGuard.IsRecord(one))
}

function expectation(fault: ValueError): string {
  const { type, schema, message } = fault
  if (type === ValueErrorType.ObjectRequiredProperty) return 'is required'
  if (type === ValueErrorType.ObjectAdditionalProperties) return 'is unknown here'
  if (typeof schema['error'] === 'string') return schema['error']
  if (type === ValueErrorType.StringMinLength)
    return `must have ${schema['minLength']} characters or more`
  if (type === ValueErrorType.StringMaxLength)
    return `must have ${schema['maxLength']} characters or less`
  if (isChoice(fault)) return `must be ${choicesIn(schema['anyOf'])}`
  return KIND_FAULTS.has(type) ? `must be ${nameOf(schema)}` : message
}

/** `pro`, `free` or null. */
function choicesIn(variants: TSchema[]): string {
  const names = [...new Set(variants.map(nameOf))]
  const last = names.pop() ?? ''
  return names.length === 0 ? last : `${names.join(', ')} or ${last}`
}

function nameOf(schema: TSchema): string {
  if (schema['const'] !== undefined) return String(schema['const'])
  // Queries hold text that stands for something else.
  const kind = schema['type'] === 'string' ? (schema['format'] ?? 'text') : schema['type']
  if (kind === 'boolean') return 'true or false'
  if (kind === 'integer') return 'a whole number'
  if (kind === 'numeric' || kind === 'number') return 'a number'
  return kind === 'object' || kind === 'array' ? `an ${kind}` : String(kind ?? 'another value')
}

/** Whether text comes back from every database as it was: it is well-formed Unicode without U+0000. */
export function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}
