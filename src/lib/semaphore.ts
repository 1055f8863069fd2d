type Semaphore = <T>(work: () => Promise<T>) => Promise<T>

type SemaphoreRules = {
  /** How many pieces of work run at once. */
  limit: number
  /** How many more wait, in order. */
  queueLimit: number
  /** How long work waits at most, in ms. With `ignoreEstimate` it waits even when the estimate is longer. */
  maxWait?: number
  ignoreEstimate?: boolean
  /** What is thrown when no more work may wait. */
  onFull: () => Error
}

/** The weight of the latest duration in the average. */
const WEIGHT = 0.2

/** Runs a few pieces of work at once and queues some more. */
export function createSemaphore(rules: SemaphoreRules): Semaphore {
  const { limit, queueLimit, maxWait = Number.POSITIVE_INFINITY, onFull } = rules
  const { ignoreEstimate = false } = rules
  let running = 0
  let average: number | null = null
  const waiting: (() => void)[] = []
  return async (work) => {
    if (running >= limit) await turn()
    else running++
    const start = performance.now()
    try {
      return await work()
    } finally {
      const took = performance.now() - start
      average = average === null ? took : average + WEIGHT * (took - average)
      // The slot is handed over directly, so that no other work can take it.
      const next = waiting.shift()
      if (next) next()
      else running--
    }
  }

  function turn(): Promise<void> {
    const expected = ignoreEstimate ? 0 : ((waiting.length + 1) * (average ?? 0)) / limit
    if (waiting.length >= queueLimit || expected > maxWait) throw onFull()
    return new Promise((resolve, reject) => {
      const timeout = Number.isFinite(maxWait) ? setTimeout(leave, maxWait) : undefined
      waiting.push(enter)

      function enter() {
        clearTimeout(timeout)
        resolve()
      }

      function leave() {
        waiting.splice(waiting.indexOf(enter), 1)
        reject(onFull())
      }
    })
  }
}
