import type { Cached, Reader, Tx } from '../db.ts'

/** Only this process changes the data, so a cached value stays valid until it does. */
export function createCached<T>(read: Reader, load: (from: Reader) => Promise<T>): Cached<T> {
  let current: Promise<T> | null = null
  return { read: () => readOrLoad(read), readWithin: readOrLoad, invalidate }

  function readOrLoad(from: Reader): Promise<T> {
    if (current === null) {
      current = load(from)
      current.catch(forget)
    }
    return current
  }

  /** Later changes in the same commit must see the new value, and a value read before the commit must not stay. */
  async function invalidate(tx: Tx) {
    forget()
    tx.afterCommit(forget)
  }

  function forget() {
    current = null
  }
}
