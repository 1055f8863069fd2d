type Budget = (holder: string, amount: number, signal: AbortSignal) => Promise<Disposable>

type Waiting = { holder: string; amount: number; resolve: () => void }

/**
 * All holders together get up to `total`, each of them up to `share`. Up to `queueLimit` requests
 * wait, `queueShare` of them for one holder; beyond that `onFull()` is thrown.
 */
type BudgetRules = {
  total: number
  share: number
  queueLimit: number
  queueShare: number
  onFull: () => Error
}

/**
 * Allocates a scarce resource, such as memory, first come first served; a holder with a full share lets others
 * pass. Dispose of the result to return the amount. Also throws `onFull()` when `signal` aborts during the wait.
 */
export function createBudget(rules: BudgetRules): Budget {
  const { total, share, queueLimit, queueShare, onFull } = rules
  const holders = new Map<string, number>()
  let waiting: Waiting[] = []
  let left = total
  return async (holder, amount, signal) => {
    const isNext = waiting.every((other) => !fitsShare(other))
    if (isNext && fitsShare({ holder, amount }) && amount <= left) allocate(holder, amount)
    else {
      const queued = waiting.filter((other) => other.holder === holder)
      if (waiting.length >= queueLimit || queued.length >= queueShare) throw onFull()
      await waitForTurn(holder, amount, signal)
    }
    return {
      [Symbol.dispose]() {
        allocate(holder, -amount)
        serveWaiting()
      },
    }
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
