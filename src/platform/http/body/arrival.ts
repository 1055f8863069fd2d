import { AppError } from '../../../lib/errors.ts'

/** A body slower than `bytesPerSecond()` throws `onLate()` after `grace` seconds. Both may change while it arrives. */
type MinimumRate = {
  readonly grace: number
  bytesPerSecond: () => number
  onLate?: () => Error
}

/** In seconds. Phones in a tunnel pause for a minute or two. Proxies must wait longer, so that they pass on our response. */
const MAX_PAUSE = 150
export const PATIENT_RATE = { grace: MAX_PAUSE, bytesPerSecond: () => 240 }
/** More stalled bodies than this would fill the memory: each then gets only the contended grace, in seconds. */
const MAX_STALLED = 2_000
const CONTENDED_GRACE = 15
/** How soon a change in the rate takes effect, and how long a body must pause to count as stalled. */
const POLL_MS = 1_000

let stalled = 0

/** Yields the body as it arrives. Only the time spent waiting for the sender counts, not processing time. */
export async function* atMinimumRate(
  chunks: AsyncGenerator<Uint8Array>,
  rate: MinimumRate,
): AsyncGenerator<Uint8Array> {
  let size = 0
  let waited = 0
  try {
    for (;;) {
      const startedAt = performance.now()
      const allowed = () => Math.min(timeFor(size, rate) - waited, maxPause() * 1000)
      const { value, done } = await arrivalWithin(chunks.next(), allowed, rate.onLate)
      if (done) return
      waited += performance.now() - startedAt
      size += value.byteLength
      yield value
    }
  } finally {
    // Not awaited, because a read may still be pending.
    void chunks.return(undefined).catch(() => {})
  }
}

/** Waits for a body of `length` bytes that is read as a whole. */
export function awaitArrival<T>(body: Promise<T>, length: number): Promise<T> {
  return arrivalWithin(body, () => timeFor(length, PATIENT_RATE))
}

/** How long `size` bytes may take, in ms. */
function timeFor(size: number, { grace, bytesPerSecond }: MinimumRate): number {
  return (Math.min(grace, maxPause()) + size / bytesPerSecond()) * 1000
}

function maxPause(): number {
  return stalled > MAX_STALLED ? CONTENDED_GRACE : MAX_PAUSE
}

/** Waits `allowed()` ms, which may change in the meantime, and then throws `onLate()`. */
async function arrivalWithin<T>(
  next: Promise<T>,
  allowed: () => number,
  onLate: () => Error = arrivesTooSlowly,
): Promise<T> {
  const startedAt = performance.now()
  const left = () => allowed() - (performance.now() - startedAt)
  let isStalled = false
  try {
    for (;;) {
      const { promise: isOver, resolve } = Promise.withResolvers<null>()
      const timer = setTimeout(resolve, Math.max(0, Math.min(left(), POLL_MS)), null)
      const arrived = await Promise.race([next, isOver]).finally(() => clearTimeout(timer))
      if (arrived !== null) return arrived
      if (left() <= 0) throw onLate()
      if (!isStalled) stalled++
      isStalled = true
    }
  } finally {
    if (isStalled) stalled--
  }
}

export function arrivesTooSlowly(): AppError {
  return new AppError('request_timeout', 'The body is arriving too slowly.')
}
