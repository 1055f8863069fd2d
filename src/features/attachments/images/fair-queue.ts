/** For whom a picture is made: an IP, and the user where one is signed in. */
export type Requester = { ip: string; userId: string | null }

type Waiting = { names: string[]; pixels: number; resolve: () => void; reject: () => void }

type FairQueueRules = {
  /** Jobs at once; the last place is kept for small pictures, and one user or address has `share` of them. */
  places: number
  share: number
  /** Jobs that wait: in all, and of one user or address. */
  queueLimit: number
  queueShare: number
  onFull: () => Error
}

/** What the smallest picture costs. */
const MIN_PIXELS = 1_000_000
/** A larger one takes more than half a second. */
const SMALL_PIXELS = 8_000_000
const MAX_REMEMBERED = 10_000

/**
 * Lends places to whoever has used least so far, by pixels, of those who wait: users and addresses take turns, and one
 * who asks for a small picture is not behind all that others have asked for before (start-time fair queueing).
 */
export function createFairQueue(rules: FairQueueRules) {
  const held = new Map<string, number>()
  /** What users and addresses have used, in pixels, from `floor` on: who comes anew starts there. */
  const used = new Map<string, number>()
  let floor = 0
  let large = 0
  let places = rules.places
  let waiting: Waiting[] = []
  return take

  /** Throws `onFull()` when too many wait, or when `signal` aborts before a place is free. Dispose of it afterwards. */
  async function take(
    { ip, userId }: Requester,
    pixels: number,
    signal: AbortSignal,
  ): Promise<Disposable> {
    const names = userId === null ? [`ip ${ip}`] : [`ip ${ip}`, `user ${userId}`]
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const job = { names, pixels, resolve, reject: () => reject(rules.onFull()) }
    if (!names.every((name) => countWaiting(name) < rules.queueShare)) throw rules.onFull()
    waiting.push(job)
    serveWaiting()
    if (waiting.length > rules.queueLimit) leave(lastOfLongest())
    signal.addEventListener('abort', () => leave(job), { once: true })
    if (signal.aborted) leave(job)
    await promise
    return { [Symbol.dispose]: () => release(job) }
  }

  function serveWaiting() {
    for (;;) {
      const next = waiting.filter(hasPlace).reduce<Waiting | null>(earlier, null)
      if (next === null) return
      waiting = waiting.filter((one) => one !== next)
      hold(next, 1)
      floor = rankOf(next)
      for (const name of next.names) used.set(name, floor + Math.max(next.pixels, MIN_PIXELS))
      if (used.size > MAX_REMEMBERED) used.clear()
      next.resolve()
    }
  }

  function release(job: Waiting) {
    hold(job, -1)
    serveWaiting()
    if (held.size === 0) used.clear()
  }

  function hold({ names, pixels }: Waiting, change: 1 | -1) {
    places -= change
    if (pixels > SMALL_PIXELS) large += change
    for (const name of names) {
      const count = (held.get(name) ?? 0) + change
      if (count === 0) held.delete(name)
      else held.set(name, count)
    }
  }

  function hasPlace({ names, pixels }: Waiting): boolean {
    const isKept = pixels > SMALL_PIXELS && large >= rules.places - 1
    return places > 0 && !isKept && names.every((name) => (held.get(name) ?? 0) < rules.share)
  }

  /** Of the same rank is first who has used less by himself, at whatever address, then who came first. */
  function earlier(one: Waiting | null, other: Waiting): Waiting {
    if (one === null) return other
    const difference =
      rankOf(other) - rankOf(one) || usedBy(other.names.at(-1)) - usedBy(one.names.at(-1))
    return difference < 0 ? other : one
  }

  function rankOf({ names }: Waiting): number {
    return Math.max(...names.map(usedBy))
  }

  function usedBy(name = ''): number {
    return Math.max(floor, used.get(name) ?? 0)
  }

  function countWaiting(name: string): number {
    return waiting.filter(({ names }) => names.includes(name)).length
  }

  /** The newest job of the address that has most of them waiting. */
  function lastOfLongest(): Waiting | undefined {
    const most = Math.max(...waiting.map(({ names }) => countWaiting(names[0] ?? '')))
    return waiting.findLast(({ names }) => countWaiting(names[0] ?? '') === most)
  }

  function leave(job: Waiting | undefined) {
    if (job === undefined || !waiting.includes(job)) return
    waiting = waiting.filter((one) => one !== job)
    job.reject()
  }
}
