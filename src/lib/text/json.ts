export type Json = Record<string, unknown>

/** The value if it is a JSON object, or else an empty object. */
export function toObject(value: unknown): Json {
  return isObject(value) ? value : {}
}

function isObject(value: unknown): value is Json {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}
