import type { Cached } from '../db.ts'

/** One process alone changes the data: what it has read stays true until it changes it. */
export function createCached<T>(_name: string, load: () => Promise<T>): Cached<T> {
  let current: Promise<T> | null = null
  return {
    read() {
      current ??= load()
      current.catch(forget)
      return current
    },
    async changed(tx) {
      tx.afterCommit(forget)
    },
  }

  function forget() {
    current = null
  }
}
