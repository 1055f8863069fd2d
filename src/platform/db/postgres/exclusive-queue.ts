type Job = { work: () => Promise<void>; refuse: (error: unknown) => void }

/** How long an instance works through its queue before another one may take the lock, in ms. */
const HOLD_MS = 50

/** Runs jobs one after another under the lock of `withLock`. Taking the lock once runs a batch of them. */
export function createExclusiveQueue(withLock: (work: () => Promise<void>) => Promise<void>) {
  const waiting: Job[] = []
  let draining: Promise<void> | null = null
  return { run, isBusy: () => draining !== null }

  function run<T>(work: () => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    waiting.push({ work: () => work().then(resolve, reject), refuse: reject })
    draining ??= drain()
    return promise
  }

  async function drain() {
    while (waiting.length > 0) {
      await withLock(runBatch).catch((error) => waiting.shift()?.refuse(error))
    }
    // At once, so that no job is added to a queue that has ended.
    draining = null
  }

  async function runBatch() {
    const until = performance.now() + HOLD_MS
    do await waiting.shift()?.work()
    while (waiting.length > 0 && performance.now() < until)
  }
}
