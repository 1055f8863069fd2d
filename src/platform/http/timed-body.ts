import type { AppError } from '../../lib/errors.ts'
import { chunksOf, rejectEncodedBody, tooLarge } from './body.ts'
import { malformed } from './errors.ts'

/** After `grace` seconds, a body must arrive at `bytesPerSecond()` or faster; otherwise `onLate()` is thrown. */
type MinimumRate = { bytesPerSecond: () => number; grace: number; onLate?: () => Error }

/** While others wait for the memory that bodies occupy, a slow one is refused with `onContended()`. */
type Contention = { isContended: () => boolean; onContended: () => Error }

/** In bytes per second. */
export const MIN_RATE = 8 * 1024
const GRACE_SECONDS = 10
/** How long a large body that is held in memory may take. */
const MAX_DURATION_SECONDS = 600
/** The minimum rate of such a body while others wait, in bytes per second. */
const CONTENDED_RATE = 256 * 1024
/** The assumed size of a body without a Content-Length, in bytes. */
const ASSUMED_BYTES = 128 * 1024

/** Yields the body as it arrives. Only the time spent waiting for the sender counts, not processing time. */
export async function* chunksAtMinimumRate(
  request: Request,
  { bytesPerSecond, grace, onLate = arrivesTooSlowly }: MinimumRate,
): AsyncGenerator<Uint8Array> {
  const chunks = chunksOf(request)
  let size = 0
  let waited = 0
  try {
    for (;;) {
      const startedAt = performance.now()
      const allowed = () => (grace + size / bytesPerSecond()) * 1000 - waited
      const { value, done } = await arrivalWithin(chunks.next(), allowed, onLate)
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

/** Waits `allowed()` ms, which may become longer in the meantime, and then throws `onLate()`. */
async function arrivalWithin<T>(next: Promise<T>, allowed: () => number, onLate: () => Error) {
  const startedAt = performance.now()
  const left = () => allowed() - (performance.now() - startedAt)
  for (;;) {
    const { promise: isOver, resolve } = Promise.withResolvers<null>()
    const timer = setTimeout(resolve, left(), null)
    const arrived = await Promise.race([next, isOver]).finally(() => clearTimeout(timer))
    if (arrived !== null) return arrived
    if (left() <= 0) throw onLate()
  }
}

/**
 * Reads a body with a Content-Length of `length`. Refuses a sender that is too slow, because the
 * body occupies memory; a stalled sender is refused after 10 s.
 */
export async function readWithMinimumRate(
  request: Request,
  length: number,
  { isContended, onContended }: Contention,
): Promise<Uint8Array> {
  rejectEncodedBody(request)
  const bytes = new Uint8Array(length)
  const rate = {
    bytesPerSecond: () => (isContended() ? CONTENDED_RATE : slowestRate(length)),
    grace: GRACE_SECONDS,
    onLate: () => (isContended() ? onContended() : arrivesTooSlowly()),
  }
  let size = 0
  for await (const chunk of chunksAtMinimumRate(request, rate)) {
    if (size + chunk.byteLength > length) throw tooLarge(length)
    bytes.set(chunk, size)
    size += chunk.byteLength
  }
  return bytes.subarray(0, size)
}

/** How long a body may take, in seconds, by its Content-Length if it has one. */
export function maxArrivalTime(contentLength: number | null): number {
  const length = contentLength ?? ASSUMED_BYTES
  return GRACE_SECONDS + length / slowestRate(length)
}

function slowestRate(length: number): number {
  return Math.max(MIN_RATE, length / MAX_DURATION_SECONDS)
}

function arrivesTooSlowly(): AppError {
  return malformed('The body is arriving too slowly.')
}
