type Semaphore = <T>(work: () => Promise<T>) => Promise<T>

type SemaphoreRules = {
  /** How many tasks run at once. */
  limit: number
  /** How many more may wait, in order. */
  queueLimit: number
  /** The longest time that a task may wait, in ms. With `ignoreEstimate` it waits even if the estimate is longer. */
  maxWait?: number
  ignoreEstimate?: boolean
  /** Creates the error to throw when the queue is full. */
  onFull: () => Error
}

/** The weight of the latest duration in the average. */
const WEIGHT = 0.2

/** Runs a limited number of tasks at once and queues the rest. */
export function createSemaphore(rules: SemaphoreRules): Semaphore {
  const { limit, queueLimit, maxWait = Number.POSITIVE_INFINITY, onFull } = rules
  const { ignoreEstimate = false } = rules
  let running = 0
  let average: number | null = null
  const waiting: (() => void)[] = []
  return async (work) => {
    if (running >= limit) await waitForTurn()
    else running++
    const start = performance.now()
    try {
      return await work()
    } finally {
      const took = performance.now() - start
      average = average === null ? took : average + WEIGHT * (took - average)
      // The slot is handed over directly, so that no other task can take it.
      const next = waiting.shift()
      if (next) next()
      else running--
    }
  }

  function waitForTurn(): Promise<void> {
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
