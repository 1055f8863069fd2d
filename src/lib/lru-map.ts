/**
 * Keeps at least the `limit` most recently used entries and at most twice as many, in two generations: the older
 * one is dropped when the younger one is full, or older than `maxAgeMs`.
 */
export function createRecentMap<Key, Value>(limit: number, maxAgeMs = Number.POSITIVE_INFINITY) {
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
