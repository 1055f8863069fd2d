export type Budget = (holder: string, amount: number) => Disposable

/**
 * Lends out `total` of something that is scarce, such as bytes of memory, and half of it to one holder at
 * most. What is lent comes back when it is disposed of; where there is not enough, `onFull()` is thrown.
 */
export function createBudget(total: number, onFull: () => Error): Budget {
  const holders = new Map<string, number>()
  let left = total
  return (holder, amount) => {
    const held = holders.get(holder) ?? 0
    if (amount > left || held + amount > total / 2) throw onFull()
    lend(holder, amount)
    return { [Symbol.dispose]: () => lend(holder, -amount) }
  }

  function lend(holder: string, amount: number) {
    const held = (holders.get(holder) ?? 0) + amount
    if (held === 0) holders.delete(holder)
    else holders.set(holder, held)
    left -= amount
  }
}
