import { Kind, type Static, type TSchema, TypeGuard, TypeRegistry } from '@sinclair/typebox'
import { type ValueError, ValueErrorType } from '@sinclair/typebox/errors'
import { Value } from '@sinclair/typebox/value'
import { AppError, type ErrorDetail } from './errors.ts'

/** Errors about the type of a value, not its size or format. */
const TYPE_ERRORS = new Set([
  ValueErrorType.Array,
  ValueErrorType.Boolean,
  ValueErrorType.Integer,
  ValueErrorType.Number,
  ValueErrorType.Object,
  ValueErrorType.String,
])

const MAX_DETAILS = 20
/** The largest number of 32 bits, and so the largest that most generated clients can read. */
export const MAX_INT32 = 2 ** 31 - 1

/** The kind of text whose length is counted in code points, as JSON Schema does; TypeBox counts UTF-16 code units. */
const TEXT = 'Text'
TypeRegistry.Set<TSchema>(TEXT, (schema, value) => {
  const { minLength = 0, maxLength = Infinity, pattern = '' } = schema
  if (typeof value !== 'string' || value.length > 2 * maxLength) return false
  // Counting is only needed near a limit.
  const isInside = value.length <= maxLength && value.length >= 2 * minLength
  const { length } = isInside ? value : [...value]
  return (
    length >= minLength &&
    length <= maxLength &&
    (pattern === '' || new RegExp(pattern).test(value))
  )
})

/** The kind of object that is checked once: see `checkedOnce`. */
const UNCHANGING = 'Unchanging'
const checkedWith = new WeakMap<object, TSchema>()
TypeRegistry.Set<TSchema>(UNCHANGING, (schema, value) => {
  if (checkedWith.get(value as object) === schema) return true
  const isValid = Value.Check({ ...schema, [Kind]: 'Object' }, value)
  if (isValid) checkedWith.set(value as object, schema)
  return isValid
})

/** The same schema for objects that never change, such as cached ones: each is checked once. */
export function checkedOnce<T extends TSchema>(schema: T): T {
  return { ...schema, [Kind]: UNCHANGING }
}

/** Makes a schema count the lengths of texts in code points. */
export function countCodePoints<T extends TSchema>(schema: T): T {
  const { minLength, maxLength, pattern, format, error } = schema
  const isLimited = minLength !== undefined || maxLength !== undefined
  const isExplained = pattern === undefined || error !== undefined
  if (TypeGuard.IsString(schema) && isLimited && format === undefined && isExplained)
    Object.assign(schema, { [Kind]: TEXT })
  const { properties, patternProperties, anyOf, items, additionalProperties } = schema
  const inner = [properties, patternProperties, anyOf, [items, additionalProperties]]
  for (const one of inner.flatMap((schemas) => Object.values(schemas ?? {})))
    if (typeof one === 'object') countCodePoints(one as TSchema)
  return schema
}

/** Returns `value` if it is valid; otherwise throws `validation_failed` with the invalid paths below `root`. */
export function check<T extends TSchema>(schema: T, value: unknown, root: string): Static<T> {
  if (Value.Check(countCodePoints(schema), value)) return value
  const details = toErrorDetails(Value.Errors(schema, value), (path) =>
    [root, path].filter(Boolean).join('.'),
  )
  throw new AppError('validation_failed', `The ${root} are invalid.`, { details })
}

/** The requirement that each invalid field violates, once per path; never the field's value. */
export function toErrorDetails(
  faults: Iterable<ValueError>,
  formatName: (path: string) => string,
): ErrorDetail[] {
  const found = new Map<string, ErrorDetail>()
  for (const error of faults) {
    for (const inner of listInnermost(error)) {
      const path = formatName(inner.path.slice(1).replaceAll('/', '.'))
      if (!found.has(path))
        found.set(path, { path: path.slice(0, 100), message: describeRequirement(inner) })
      if (found.size >= MAX_DETAILS) return [...found.values()]
    }
  }
  return [...found.values()]
}

/** For a union, yields the errors inside the object or array variant that the value matches. */
function* listInnermost(fault: ValueError): Generator<ValueError> {
  const at = isChoice(fault) ? findVariant(fault) : -1
  const inner = at < 0 ? undefined : fault.errors[at]
  if (inner === undefined) yield fault
  else for (const one of inner) yield* listInnermost(one)
}

function isChoice({ type, schema }: ValueError): boolean {
  return type === ValueErrorType.Union && typeof schema['error'] !== 'string'
}

function findVariant({ schema, value }: ValueError): number {
  const variants = schema['anyOf'] as TSchema[]
  if (Array.isArray(value)) return variants.findIndex(TypeGuard.IsArray)
  if (value === null || typeof value !== 'object') return -1
  return variants.findIndex((one) => TypeGuard.IsObject(one) || TypeGuard.IsRecord(one))
}

function describeRequirement(fault: ValueError): string {
  const { type, schema, value, message } = fault
  if (type === ValueErrorType.ObjectRequiredProperty) return 'is required'
  if (type === ValueErrorType.ObjectAdditionalProperties) return 'is not a known field'
  if (typeof schema['error'] === 'string') return schema['error']
  const isText = schema[Kind] === TEXT
  const isMeasured = isText && typeof value === 'string'
  const isShort = isMeasured && [...value].length < (schema['minLength'] ?? 0)
  if (type === ValueErrorType.StringMinLength || isShort)
    return `must have ${schema['minLength']} characters or more`
  if (type === ValueErrorType.StringMaxLength || isMeasured)
    return `must have ${schema['maxLength']} characters or fewer`
  if (isChoice(fault)) return `must be ${listChoices(schema['anyOf'])}`
  return TYPE_ERRORS.has(type) || isText ? `must be ${readName(schema)}` : message
}

/** Formats `pro, free or null`. */
function listChoices(variants: TSchema[]): string {
  const names = [...new Set(variants.map(readName))]
  const last = names.pop() ?? ''
  return names.length === 0 ? last : `${names.join(', ')} or ${last}`
}

function readName(schema: TSchema): string {
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
