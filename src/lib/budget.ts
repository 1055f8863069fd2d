export type Budget = (holder: string, amount: number) => Promise<Disposable>

type Waiting = { holder: string; amount: number; resolve: () => void }

/** `total` in all, `share` for one holder; as many as `queueLimit` wait, beyond that `onFull()` is thrown. */
type BudgetRules = { total: number; share: number; queueLimit: number; onFull: () => Error }

/**
 * Lends out something that is scarce, such as bytes of memory. Where there is not enough one waits; what is
 * lent comes back when it is disposed of.
 */
export function createBudget({ total, share, queueLimit, onFull }: BudgetRules): Budget {
  const holders = new Map<string, number>()
  let waiting: Waiting[] = []
  let left = total
  return async (holder, amount) => {
    if (fits(holder, amount)) lend(holder, amount)
    else {
      if (waiting.length >= queueLimit) throw onFull()
      await new Promise<void>((resolve) => waiting.push({ holder, amount, resolve }))
    }
    return {
      [Symbol.dispose]() {
        lend(holder, -amount)
        serveWaiting()
      },
    }
  }

  function fits(holder: string, amount: number): boolean {
    return amount <= left && (holders.get(holder) ?? 0) + amount <= share
  }

  function lend(holder: string, amount: number) {
    const held = (holders.get(holder) ?? 0) + amount
    if (held === 0) holders.delete(holder)
    else holders.set(holder, held)
    left -= amount
  }

  /** In the order in which they came; who holds a share already lets the others pass. */
  function serveWaiting() {
    waiting = waiting.filter(({ holder, amount, resolve }) => {
      if (!fits(holder, amount)) return true
      lend(holder, amount)
      resolve()
      return false
    })
  }
}
