export type Semaphore = <T>(work: () => Promise<T>) => Promise<T>

/**
 * Lets `limit` pieces of work run side by side and `queueLimit` more wait in order.
 * Beyond that `onFull()` is thrown.
 */
export function createSemaphore(limit: number, queueLimit: number, onFull: () => Error): Semaphore {
  let running = 0
  const waiting: (() => void)[] = []
  return async (work) => {
    if (running >= limit) {
      if (waiting.length >= queueLimit) throw onFull()
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else running++
    try {
      return await work()
    } finally {
      // The place is handed over, so that nobody can slip in between.
      const next = waiting.shift()
      if (next) next()
      else running--
    }
  }
}
