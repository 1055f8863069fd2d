type Semaphore = <T>(work: () => Promise<T>) => Promise<T>

type SemaphoreRules = {
  /** How many tasks run at once. */
  limit: number
  /** How many more may wait, in order. */
  queueLimit: number
  /** The longest time that a task may wait, in ms. */
  maxWait?: number
  /** Creates the error to throw when the queue is full or the wait was too long. */
  onFull: () => Error
}

/** Runs a limited number of tasks at once and queues the rest. */
export function createSemaphore(rules: SemaphoreRules): Semaphore {
  const { limit, queueLimit, maxWait = Number.POSITIVE_INFINITY, onFull } = rules
  let running = 0
  const waiting: (() => void)[] = []
  return async (work) => {
    if (running >= limit) await waitForTurn()
    else running++
    try {
      return await work()
    } finally {
      // The slot is handed over directly, so that no other task can take it.
      const next = waiting.shift()
      if (next) next()
      else running--
    }
  }

  function waitForTurn(): Promise<void> {
    if (waiting.length >= queueLimit) throw onFull()
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
