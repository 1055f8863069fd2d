type Semaphore = <T>(work: () => Promise<T>) => Promise<T>

type SemaphoreRules = {
  /** How many pieces of work run side by side. */
  limit: number
  /** How many more wait, in order. */
  queueLimit: number
  /** How long one waits at most, in ms. Who would wait longer is refused at once, unless it `waitsToTheEnd`. */
  maxWait?: number
  waitsToTheEnd?: boolean
  /** What is thrown where no more may wait. */
  onFull: () => Error
}

/** How much the latest duration counts in the average. */
const WEIGHT = 0.2

/** Lets a few pieces of work run side by side and some more wait for their turn. */
export function createSemaphore(rules: SemaphoreRules): Semaphore {
  const { limit, queueLimit, maxWait = Number.POSITIVE_INFINITY, onFull } = rules
  const { waitsToTheEnd = false } = rules
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
      // The place is handed over, so that nobody can slip in between.
      const next = waiting.shift()
      if (next) next()
      else running--
    }
  }

  function turn(): Promise<void> {
    const expected = waitsToTheEnd ? 0 : ((waiting.length + 1) * (average ?? 0)) / limit
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
