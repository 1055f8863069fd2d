import type { TUnsafe } from '@sinclair/typebox'
import { type TSchema, t } from 'elysia'

/** An object that refuses fields it does not name. A title makes it a model of its own in the docs. */
export function strict<T extends Record<string, TSchema>>(properties: T, title?: string) {
  return t.Object(properties, { additionalProperties: false, ...(title ? { title } : {}) })
}

/** One of a few words. */
export function oneOf<const T extends string>(...words: T[]) {
  return t.Union(
    words.map((word) => t.Literal(word)),
    { error: `must be one of ${words.join(', ')}` },
  ) as unknown as TUnsafe<T>
}

/** The schema of `{ code, response }`. */
export function DataOf<T extends TSchema>(response: T) {
  return strict({ code: t.String(), response })
}

export const Message = strict({ code: t.String(), message: t.String() }, 'Message')

export const Failure = strict(
  {
    code: t.String(),
    message: t.String({ description: 'a sentence that is safe to show' }),
    requestId: t.String(),
    details: t.Optional(
      t.Array(strict({ path: t.String(), message: t.String() }, 'FailureDetail')),
    ),
  },
  'Failure',
)

/** The response schemas of a route: its success and the failures that it can answer. */
export function responses<T extends TSchema, const S extends number>(success: T, ...failures: S[]) {
  const entries = failures.map((status) => [status, Failure] as const)
  return { 200: success, ...Object.fromEntries(entries) } as { 200: T } & Record<S, typeof Failure>
}

export function data<T>(response: T): { code: string; response: T } {
  return { code: 'ok', response }
}

export function message(text: string, code = 'ok'): { code: string; message: string } {
  return { code, message: text }
}
