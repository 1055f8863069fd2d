/** A schedule of actions by time, in slots of `slot` ms. */
export function createAgenda(slot: number) {
  const bySlot = new Map<number, { at: number; run: () => void }[]>()
  let next = 0
  return { add, takeUntil }

  function add(at: number, run: () => void) {
    const due = Math.max(Math.floor(at / slot), next)
    bySlot.set(due, [...(bySlot.get(due) ?? []), { at, run }])
  }

  function takeUntil(time: number) {
    const taken = []
    const until = Math.floor(time / slot)
    if (next === 0) next = Math.min(...bySlot.keys(), until)
    for (; next < until; next++) {
      taken.push(...(bySlot.get(next) ?? []))
      bySlot.delete(next)
    }
    return taken.toSorted((a, b) => a.at - b.at)
  }
}
