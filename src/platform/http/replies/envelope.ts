import { type IntegerOptions, type StringOptions, type TUnsafe, Type } from '@sinclair/typebox'
import { type TSchema, t } from 'elysia'
import { STATUS } from '../../../lib/errors.ts'
import { MAX_INT32 } from '../../../lib/validation.ts'

/** Keeps a route out of the API docs. */
export const hidden = { detail: { hide: true } }

/** Refuses unknown fields. With a title it is a named model in the docs. */
export function closedObject<T extends Record<string, TSchema>>(
  properties: T,
  title?: string,
  description?: string,
) {
  const documentation = title ? { title, ...(description ? { description } : {}) } : {}
  return t.Object(properties, { additionalProperties: false, ...documentation })
}

/** A model of the client package without a name in the document, such as a body, whose title names its operation. */
export function withDescription<T extends TSchema>(model: T, description: string): T {
  return { ...model, description }
}

/** The members that a feature adds to a user's export, as a model of the client package. */
export function partOfExport<T extends Record<string, TSchema>>(members: T, name: string) {
  return withDescription(closedObject(members), `${name}, as part of a data export`)
}

export function literalUnion<const T extends string>(
  words: readonly T[],
  documentation: { description: string; field?: { hint: string } },
) {
  return t.Union(
    words.map((word) => t.Literal(word)),
    { error: `must be one of ${words.join(', ')}`, examples: [words[0]], ...documentation },
  ) as unknown as TUnsafe<T>
}

/** One of a list of words that later versions may extend, so clients must accept others. */
export function openEnum<const T extends string>(
  words: readonly T[],
  { description, example = words[0] }: { description: string; example?: string | undefined },
) {
  return t.String({
    description: `${description}: ${words.map((word) => `\`${word}\``).join(', ')}. Later versions may add others.`,
    examples: [example],
    'x-extensible-enum': words,
  })
}

/** Without a format, at most 32 bits: generated clients fail on larger numbers. Elysia's own schema also takes text. */
export function integer(options: IntegerOptions) {
  return Type.Integer(withRange(options))
}

export function withRange(options: IntegerOptions): IntegerOptions {
  const maximum = options['format'] === 'int64' ? Number.MAX_SAFE_INTEGER : MAX_INT32
  return { format: 'int32', minimum: -maximum, maximum, ...options }
}

/** `suffix` completes the description, for example `of the plan`. */
export function id(suffix: string) {
  return text(`id ${suffix} (UUIDv7)`, '01a1fecb-4162-75f8-b13e-d84fd1f88be2')
}

export function text(description: string, example: string, options: StringOptions = {}) {
  return t.String({ ...options, description, examples: [example] })
}

export function flag(description: string, example = true) {
  return t.Boolean({ description, examples: [example] })
}

/** ISO 8601 in UTC with milliseconds. */
export function time(description: string, example: string | null = '2026-07-06T14:00:00.000Z') {
  return t.String({ format: 'date-time', description, examples: [example] })
}

export function nullable<T extends TSchema>(schema: T, description?: string) {
  return t.Union([schema, t.Null()], description === undefined ? {} : { description })
}

const SuccessCode = text('`ok`, unless the operation says otherwise', 'ok')

export function createDataSchema<T extends TSchema>(response: T) {
  return closedObject({ code: SuccessCode, response })
}

/** The code identifies the kind of response. */
export function createReplySchema<T extends TSchema>(
  code: string,
  response: T,
  title: string,
  description: string,
) {
  const codeSchema = text(`\`${code}\``, code)
  return closedObject({ code: codeSchema, response }, title, description)
}

/** `propertyName` distinguishes the models. `simple` replaces the union for generators without `oneOf`. */
export function createUnionModel<T extends Record<string, TSchema>>(
  propertyName: string,
  models: T,
  { title, description, simple }: { title: string; description: string; simple: TSchema },
) {
  const mapping = Object.entries(models).map(([value, { title: name }]) => [
    value,
    `#/components/schemas/${name}`,
  ])
  return t.Union(Object.values(models) as [T[keyof T]], {
    title,
    description,
    discriminator: { propertyName, mapping: Object.fromEntries(mapping) },
    'x-simple': simple,
  })
}

export const Message = closedObject(
  {
    code: SuccessCode,
    message: text('a sentence for users', 'Done.'),
  },
  'Message',
  'a response without data',
)

const FailureDetail = closedObject(
  {
    path: text('where in the request', 'profile.name'),
    message: text('the requirement; never the rejected value', 'must be an e-mail address'),
  },
  'FailureDetail',
  'an invalid field',
)

export const Failure = closedObject(
  {
    code: openEnum(Object.keys(STATUS), {
      description: 'what went wrong, for programs',
      example: 'validation_failed',
    }),
    message: t.String({
      description: 'what went wrong, for users; translated into the requested language if possible',
      examples: ['Some fields are invalid.'],
    }),
    requestId: t.String({
      description: 'identifies this request in the server log',
      examples: ['5f0c6d3e-3c2b-4c8e-9a75-1d1f5f0a8c11'],
    }),
    details: t.Optional(t.Array(FailureDetail, { description: 'the invalid fields' })),
  },
  'Failure',
  'the body of every error response',
)

/** Schemas for success and for each failure status that the route can return; any route can return 503. */
export function responses<T extends TSchema, const S extends number>(success: T, ...failures: S[]) {
  const entries = [...failures, 503].map((status) => [status, Failure] as const)
  type Failures = Record<S | 503, typeof Failure>
  return { 200: success, ...Object.fromEntries(entries) } as { 200: T } & Failures
}

export function data<T>(response: T): { code: string; response: T } {
  return { code: 'ok', response }
}

export function message(text: string, code = 'ok'): { code: string; message: string } {
  return { code, message: text }
}
