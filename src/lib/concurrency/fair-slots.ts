type Waiting = {
  holders: string[]
  cost: number
  startedAt: number
  resolve: () => void
  reject: () => void
}

type FairQueueRules = {
  /** How many jobs run at once: in total, and for one holder. */
  slots: number
  share?: number
  /** Jobs that cost more than this leave the last slot to cheaper ones. */
  small?: number
  /** The cost of a millisecond, charged afterwards for jobs whose duration is not known in advance. */
  costPerMs?: number
  /** How many jobs may wait: in total, and for one holder. */
  queueLimit: number
  queueShare?: number
  onFull: () => Error
}

const MAX_REMEMBERED = 10_000

/**
 * Start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996): the next slot goes to the waiting holder, such as an
 * IP address or a user, that has used the least so far, by cost.
 */
export function createFairSlots(rules: FairQueueRules) {
  const { queueLimit, onFull, small = Number.POSITIVE_INFINITY, costPerMs = 0 } = rules
  const { share = rules.slots, queueShare = queueLimit } = rules
  const held = new Map<string, number>()
  /** The cost each holder has used; a new holder starts at `floor`. */
  const used = new Map<string, number>()
  let floor = 0
  let largeRunning = 0
  let freeSlots = rules.slots
  let waiting: Waiting[] = []
  return take

  /** Waits for a slot. `holders`: widest (an IP) to narrowest (a user). Throws `onFull()` if full or aborted. */
  async function take(holders: string[], cost: number, signal: AbortSignal): Promise<Disposable> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const job = { holders, cost, startedAt: 0, resolve, reject: () => reject(onFull()) }
    if (!holders.every((holder) => countWaiting(holder) < queueShare)) throw onFull()
    waiting.push(job)
    serveWaiting()
    if (waiting.length > queueLimit) leave(findLastOfLongest())
    signal.addEventListener('abort', () => leave(job), { once: true })
    if (signal.aborted) leave(job)
    await promise
    return { [Symbol.dispose]: () => release(job) }
  }

  function serveWaiting() {
    while (freeSlots > 0) {
      const next = waiting.filter(hasSlot).reduce<Waiting | null>(pickNext, null)
      if (next === null) return
      waiting = waiting.filter((one) => one !== next)
      adjustCounts(next, 1)
      floor = computeRank(next)
      for (const holder of next.holders) used.set(holder, floor + next.cost)
      if (used.size > MAX_REMEMBERED) used.clear()
      next.startedAt = performance.now()
      next.resolve()
    }
  }

  function release(job: Waiting) {
    const more = (performance.now() - job.startedAt) * costPerMs - job.cost
    if (more > 0) for (const holder of job.holders) used.set(holder, usedBy(holder) + more)
    adjustCounts(job, -1)
    // Once every waiting holder could have had a turn, earlier holders no longer rank behind new ones.
    floor += job.cost / (countByWidest().size + 1)
    serveWaiting()
    if (held.size === 0) used.clear()
  }

  function adjustCounts({ holders, cost }: Waiting, change: 1 | -1) {
    freeSlots -= change
    if (cost > small) largeRunning += change
    for (const holder of holders) {
      const count = (held.get(holder) ?? 0) + change
      if (count === 0) held.delete(holder)
      else held.set(holder, count)
    }
  }

  function hasSlot({ holders, cost }: Waiting): boolean {
    const isReserved = cost > small && largeRunning >= rules.slots - 1
    return !isReserved && holders.every((holder) => (held.get(holder) ?? 0) < share)
  }

  /** Ties go to the job whose narrowest holder has used less, then to the older job. */
  function pickNext(one: Waiting | null, other: Waiting): Waiting {
    if (one === null) return other
    const difference =
      computeRank(other) - computeRank(one) ||
      usedBy(other.holders.at(-1)) - usedBy(one.holders.at(-1))
    return difference < 0 ? other : one
  }

  function computeRank({ holders }: Waiting): number {
    return Math.max(...holders.map(usedBy))
  }

  function usedBy(holder = ''): number {
    return Math.max(floor, used.get(holder) ?? 0)
  }

  function countWaiting(holder: string): number {
    return waiting.filter(({ holders }) => holders.includes(holder)).length
  }

  /** The newest job of the widest holder that has the most jobs waiting. */
  function findLastOfLongest(): Waiting | undefined {
    const counts = countByWidest()
    const most = Math.max(...counts.values())
    return waiting.findLast(({ holders: [first = ''] }) => counts.get(first) === most)
  }

  function countByWidest(): Map<string, number> {
    const counts = new Map<string, number>()
    for (const { holders } of waiting) {
      const [first = ''] = holders
      counts.set(first, (counts.get(first) ?? 0) + 1)
    }
    return counts
  }

  function leave(job: Waiting | undefined) {
    if (job === undefined || !waiting.includes(job)) return
    waiting = waiting.filter((one) => one !== job)
    job.reject()
  }
}
