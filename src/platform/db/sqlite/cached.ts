import type { Cached, Reader, Tx } from '../db.ts'

/** One process alone changes the data: what it has read stays true until it changes it. */
export function createCached<T>(read: Reader, load: (from: Reader) => Promise<T>): Cached<T> {
  let current: Promise<T> | null = null
  return { read: () => kept(read), readIn: kept, changed }

  function kept(from: Reader): Promise<T> {
    current ??= load(from)
    current.catch(forget)
    return current
  }

  /** Those that share its commit must see it, and those that read before it must not stay. */
  async function changed(tx: Tx) {
    forget()
    tx.afterCommit(forget)
  }

  function forget() {
    current = null
  }
}
