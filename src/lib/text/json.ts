export type Json = Record<string, unknown>

/** The value if it is a JSON object, else an empty object. */
export function toObject(value: unknown): Json {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Json) : {}
}

/** The objects in a JSON array; empty for anything else. */
export function toList(value: unknown): Json[] {
  return Array.isArray(value) ? value.map(toObject) : []
}
