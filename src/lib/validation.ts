import { type Static, type TSchema, TypeGuard } from '@sinclair/typebox'
import { type ValueError, ValueErrorType } from '@sinclair/typebox/errors'
import { Value } from '@sinclair/typebox/value'
import { AppError, type ErrorDetail } from './errors.ts'

/** Errors about the type of a value, not its size or format. */
const TYPE_FAULTS = new Set([
  ValueErrorType.Array,
  ValueErrorType.Boolean,
  ValueErrorType.Integer,
  ValueErrorType.Number,
  ValueErrorType.Object,
  ValueErrorType.String,
])

const MAX_DETAILS = 20

/** Returns `value` if it is valid; otherwise throws `validation_failed` with the invalid paths below `root`. */
export function check<T extends TSchema>(schema: T, value: unknown, root: string): Static<T> {
  if (Value.Check(schema, value)) return value
  const details = detailsOf(Value.Errors(schema, value), (path) =>
    [root, path].filter(Boolean).join('.'),
  )
  throw new AppError('validation_failed', `The ${root} are invalid.`, { details })
}

/** The requirement that each invalid field violates, once per path; never the field's value. */
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
      if (found.size >= MAX_DETAILS) return [...found.values()]
    }
  }
  return [...found.values()]
}

/** For a union, yields the errors inside the object or array variant that the value matches. */
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
  if (type === ValueErrorType.ObjectAdditionalProperties) return 'is not a known field'
  if (typeof schema['error'] === 'string') return schema['error']
  if (type === ValueErrorType.StringMinLength)
    return `must have ${schema['minLength']} characters or more`
  if (type === ValueErrorType.StringMaxLength)
    return `must have ${schema['maxLength']} characters or fewer`
  if (isChoice(fault)) return `must be ${choicesIn(schema['anyOf'])}`
  return TYPE_FAULTS.has(type) ? `must be ${nameOf(schema)}` : message
}

/** Such as `pro, free or null`. */
function choicesIn(variants: TSchema[]): string {
  const names = [...new Set(variants.map(nameOf))]
  const last = names.pop() ?? ''
  return names.length === 0 ? last : `${names.join(', ')} or ${last}`
}

function nameOf(schema: TSchema): string {
  if (schema['const'] !== undefined) return String(schema['const'])
  // Query values are always strings; the format says what they stand for.
  const kind = schema['type'] === 'string' ? (schema['format'] ?? 'text') : schema['type']
  if (kind === 'boolean') return 'true or false'
  if (kind === 'integer') return 'a whole number'
  if (kind === 'numeric' || kind === 'number') return 'a number'
  return kind === 'object' || kind === 'array' ? `an ${kind}` : String(kind ?? 'another value')
}

/** Whether every database stores the text unchanged: well-formed Unicode without U+0000. */
export function isStorableText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}
