/**
 * Keeps the latest `limit` to 2 × `limit` entries in two generations. One that is full, or older than `maxAgeMs`,
 * replaces the previous one.
 */
export function createLruMap<Key, Value>(limit: number, maxAgeMs = Number.POSITIVE_INFINITY) {
  let young = new Map<Key, Value>()
  let old = new Map<Key, Value>()
  let startedAt = performance.now()
  return { get, set }

  function get(key: Key): Value | undefined {
    const value = young.get(key)
    if (value !== undefined) return value
    const older = old.get(key)
    if (older !== undefined) set(key, older)
    return older
  }

  function set(key: Key, value: Value) {
    if (young.size >= limit || performance.now() - startedAt > maxAgeMs) {
      old = young
      young = new Map()
      startedAt = performance.now()
    }
    young.set(key, value)
  }
}
