type Turn = { work: () => Promise<void>; refuse: (error: unknown) => void }

/** For so long turns are taken under one lock, in ms, before others may have it. */
const HOLD = 50

/** Work that is done one after the other under a lock, which is taken once for several turns. */
export function createTurns(locked: (work: () => Promise<void>) => Promise<void>) {
  const waiting: Turn[] = []
  let taking: Promise<void> | null = null
  return { take, isBusy: () => taking !== null }

  function take<T>(work: () => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    waiting.push({ work: () => work().then(resolve, reject), refuse: reject })
    taking ??= takeAll().finally(() => {
      taking = null
    })
    return promise
  }

  async function takeAll() {
    while (waiting.length > 0) {
      await locked(takeSome).catch((error) => waiting.shift()?.refuse(error))
    }
  }

  async function takeSome() {
    const until = performance.now() + HOLD
    do await waiting.shift()?.work()
    while (waiting.length > 0 && performance.now() < until)
  }
}
