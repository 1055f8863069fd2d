/** Share of each kind of request, in percent. */
const SHARES = {
  /** A public read with `If-None-Match`. */
  read: 70,
  subscription: 7.5,
  profile: 7.5,
  /** A token refresh. */
  refresh: 5,
  /** A sign-in with a password. */
  signIn: 3,
  /** A billing event. */
  webhook: 4,
  upload: 1.5,
  download: 1.5,
}

export type Kind = keyof typeof SHARES

export const KINDS = Object.keys(SHARES) as Kind[]

/** Returns a number from 0 to 1, excluding 1. */
export type Random = () => number

/** A scheduled request: when it is due, in ms from the start, and its kind. */
export type Arrival = { at: number; kind: Kind }

/** `rate` requests per second for `seconds`, of one kind or of the mix. */
type ScheduleOptions = { rate: number; seconds: number; seed: number; only?: Kind }

/** Independent arrivals (a Poisson process). The same seed gives the same schedule. */
export function scheduleArrivals({ rate, seconds, seed, only }: ScheduleOptions): Arrival[] {
  const random = createRandom(seed)
  const arrivals: Arrival[] = []
  let at = 0
  while (true) {
    at -= (Math.log(1 - random()) * 1000) / rate
    if (at >= seconds * 1000) return arrivals
    arrivals.push({ at, kind: only ?? pickKind(random) })
  }
}

function pickKind(random: Random): Kind {
  let rest = random() * 100
  for (const kind of KINDS) {
    rest -= SHARES[kind]
    if (rest < 0) return kind
  }
  return 'read'
}

/** Returns a random item of `list`. */
export function pick<T>(list: readonly T[], random: Random): T {
  return list[Math.floor(random() * list.length)] as T
}

/** The mulberry32 generator. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
