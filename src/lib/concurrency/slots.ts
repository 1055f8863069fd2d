type Budget = {
  reserve: (holder: string, amount: number, signal: AbortSignal) => Promise<Disposable>
  /** Whether a request waits for what other holders have. */
  isContended: () => boolean
}

type Waiting = { holder: string; amount: number; resolve: () => void }

/** Amounts in total and per holder. Beyond `queueLimit` waiting requests, or `queueShare` of a holder: `onFull()`. */
type BudgetRules = {
  total: number
  share: number
  queueLimit: number
  queueShare: number
  onFull: () => Error
}

/**
 * Allocates a scarce resource such as memory, first come first served; holders with a full share let others pass.
 * Dispose of the result to return it. Also throws `onFull()` when `signal` aborts.
 */
export function createShares(rules: BudgetRules): Budget {
  const { total, share, queueLimit, queueShare, onFull } = rules
  const holders = new Map<string, number>()
  let waiting: Waiting[] = []
  let left = total
  return { reserve, isContended }

  async function reserve(holder: string, amount: number, signal: AbortSignal): Promise<Disposable> {
    const isFree = !isContended() && fitsShare({ holder, amount }) && amount <= left
    if (isFree) allocate(holder, amount)
    else {
      const queued = waiting.filter((other) => other.holder === holder)
      if (waiting.length >= queueLimit || queued.length >= queueShare) throw onFull()
      await waitForTurn(holder, amount, signal)
    }
    return {
      [Symbol.dispose]() {
        allocate(holder, -amount)
        const isOther = (one: Waiting) => one.holder !== holder
        waiting = [...waiting.filter(isOther), ...waiting.filter((one) => !isOther(one))]
        serveWaiting()
      },
    }
  }

  function isContended(): boolean {
    return waiting.some(fitsShare)
  }

  function waitForTurn(holder: string, amount: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const one = { holder, amount, resolve }
      waiting.push(one)
      const leave = () => {
        if (!waiting.includes(one)) return
        waiting = waiting.filter((other) => other !== one)
        reject(onFull())
        serveWaiting()
      }
      if (signal.aborted) leave()
      else signal.addEventListener('abort', leave, { once: true })
    })
  }

  function fitsShare({ holder, amount }: Pick<Waiting, 'holder' | 'amount'>): boolean {
    return (holders.get(holder) ?? 0) + amount <= share
  }

  function allocate(holder: string, amount: number) {
    const held = (holders.get(holder) ?? 0) + amount
    if (held === 0) holders.delete(holder)
    else holders.set(holder, held)
    left -= amount
  }

  function serveWaiting() {
    for (;;) {
      const next = waiting.find(fitsShare)
      if (next === undefined || next.amount > left) return
      waiting = waiting.filter((one) => one !== next)
      allocate(next.holder, next.amount)
      next.resolve()
    }
  }
}

type Semaphore = <T>(work: () => Promise<T>) => Promise<T>

type SemaphoreRules = {
  limit: number
  queueLimit: number
  /** In ms. */
  maxWait?: number
  /** The error for a full queue or a wait that was too long. */
  onFull: () => Error
}

export function createTaskQueue(rules: SemaphoreRules): Semaphore {
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
