import { type Json, toObject } from './json.ts'

/** Applies a merge patch (RFC 7396): `null` removes a member, anything but an object replaces it. */
export function mergePatch(target: unknown, patch: Json): Json {
  const merged = new Map(Object.entries(toObject(target)))
  for (const [name, change] of Object.entries(patch)) {
    if (change === null) merged.delete(name)
    else
      merged.set(
        name,
        toObject(change) === change ? mergePatch(merged.get(name), toObject(change)) : change,
      )
  }
  // Unlike an assignment, this makes `__proto__` an ordinary member.
  return Object.fromEntries(merged)
}
