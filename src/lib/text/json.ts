export type Json = Record<string, unknown>

/** The value if it is a JSON object, else an empty object. */
export function toObject(value: unknown): Json {
  return isObject(value) ? value : {}
}

/** The objects in a JSON array; empty for anything else. */
export function toList(value: unknown): Json[] {
  return Array.isArray(value) ? value.map(toObject) : []
}

/** Applies a merge patch (RFC 7396): `null` removes a member, anything but an object replaces it. */
export function mergePatch(target: unknown, patch: Json): Json {
  const merged = new Map(Object.entries(toObject(target)))
  for (const [name, change] of Object.entries(patch)) {
    if (change === null) merged.delete(name)
    else merged.set(name, isObject(change) ? mergePatch(merged.get(name), change) : change)
  }
  // Unlike an assignment, this makes `__proto__` an ordinary member.
  return Object.fromEntries(merged)
}

function isObject(value: unknown): value is Json {
  return value !== null && typeof value === 'object' && !Array.isArray(value)
}
