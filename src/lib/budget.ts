export type Budget = (amount: number) => Disposable

/** Lends out `total` of something that is scarce, such as bytes of memory; beyond it `onFull()` is thrown. */
export function createBudget(total: number, onFull: () => Error): Budget {
  let left = total
  return (amount) => {
    if (amount > left) throw onFull()
    left -= amount
    return {
      [Symbol.dispose]() {
        left += amount
      },
    }
  }
}
