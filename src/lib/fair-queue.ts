type Waiting = { start: number; begin: () => void; leave: () => void }

type FairQueueRules = {
  /** How many pieces of work run side by side. */
  concurrency: number
  /** How many more wait. */
  queueLimit: number
  /** How long one waits at most, in ms. */
  maxWait: number
  /** What is thrown when the queue is full or the wait is over. */
  onFull: () => Error
}

/**
 * Runs a few pieces of work side by side and gives every holder, such as an address or an account, its turn: whoever
 * queues a hundred pieces delays the others by one. When the queue is full, the piece that would run last makes room.
 * Start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996).
 */
export function createFairQueue({ concurrency, queueLimit, maxWait, onFull }: FairQueueRules) {
  let running = 0
  /** The start of the piece that began last. Starts count cost, not time. */
  let served = 0
  /** Where the next piece of a holder starts. Past values mean nothing: they are dropped. */
  const next = new Map<string, number>()
  /** In the order in which they will run. */
  const waiting: Waiting[] = []
  return run

  /** Runs `work` in turn, on behalf of all of `holders`. A piece of twice the `cost` gets half as many turns. */
  async function run<T>(holders: string[], cost: number, work: () => Promise<T>): Promise<T> {
    const start = Math.max(served, ...holders.map((holder) => next.get(holder) ?? 0))
    if (running < concurrency) {
      running++
      served = Math.max(served, start)
      charge(holders, start + cost)
    } else await turn(start, holders, cost)
    try {
      return await work()
    } finally {
      const first = waiting.shift()
      if (first) first.begin()
      else running--
      forgetPast()
    }
  }

  function turn(start: number, holders: string[], cost: number): Promise<void> {
    const last = waiting.at(-1)
    if (waiting.length >= queueLimit) {
      if (!last || last.start <= start) throw onFull()
      last.leave()
    }
    charge(holders, start + cost)
    return new Promise((resolve, reject) => {
      const timeout = setTimeout(leave, maxWait)
      const entry = { start, begin, leave }
      waiting.splice(waiting.findLastIndex((other) => other.start <= start) + 1, 0, entry)

      function begin() {
        clearTimeout(timeout)
        served = Math.max(served, start)
        resolve()
      }

      function leave() {
        clearTimeout(timeout)
        waiting.splice(waiting.indexOf(entry), 1)
        for (const holder of holders) next.set(holder, (next.get(holder) ?? cost) - cost)
        reject(onFull())
      }
    })
  }

  function charge(holders: string[], end: number) {
    for (const holder of holders) next.set(holder, end)
  }

  function forgetPast() {
    if (running === 0) next.clear()
    else if (next.size > 2 * (queueLimit + concurrency))
      for (const [holder, end] of next) if (end <= served) next.delete(holder)
  }
}
