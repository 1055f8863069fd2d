import type { JsonObject } from './schema.ts'

/** Applies a merge patch (RFC 7396): `null` removes a member, anything but an object replaces it. */
export function mergePatch(target: unknown, patch: JsonObject): JsonObject {
  const merged = new Map(isObject(target) ? Object.entries(target) : [])
  for (const [name, change] of Object.entries(patch)) {
    if (change === null) merged.delete(name)
    else merged.set(name, isObject(change) ? mergePatch(merged.get(name), change) : change)
  }
  // Unlike an assignment, this makes `__proto__` an ordinary member.
  return Object.fromEntries(merged)
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
