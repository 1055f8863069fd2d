type Job = { work: () => Promise<void>; reject: (error: unknown) => void; since: number }

/** How long an instance works through its queue before another one may take the lock, in ms. */
const HOLD_MS = 50

/** When the lock cannot be taken, jobs older than this are rejected: their callers have already timed out. In ms. */
const MAX_WAIT_MS = 10_000

/** Runs jobs one after another: a batch each time `withLock` takes the lock. */
export function createExclusiveQueue(withLock: (work: () => Promise<void>) => Promise<void>) {
  const waiting: Job[] = []
  let draining: Promise<void> | null = null
  return { run, isBusy: () => draining !== null }

  function run<T>(work: () => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    const job = () => work().then(resolve, reject)
    waiting.push({ work: job, reject, since: performance.now() })
    draining ??= drain()
    return promise
  }

  async function drain() {
    while (waiting.length > 0) {
      await withLock(runBatch).catch(rejectExpired)
    }
    // Synchronously, so that no job is added to a queue that has ended.
    draining = null
  }

  function rejectExpired(error: unknown) {
    const since = performance.now() - MAX_WAIT_MS
    do waiting.shift()?.reject(error)
    while ((waiting[0]?.since ?? Number.POSITIVE_INFINITY) < since)
  }

  async function runBatch() {
    const until = performance.now() + HOLD_MS
    do await waiting.shift()?.work()
    while (waiting.length > 0 && performance.now() < until)
  }
}
