import { announcedLength, chunksOf, refuseEncoded, refuseLonger, tooLarge } from './body.ts'
import { malformed } from './errors.ts'

/** A body has to come at this rate at least, after some seconds in which it need not: bytes a second. */
const SLOWEST = 8 * 1024
const GRACE = 10
/** A large one has to come within so many seconds all the same. */
const LONGEST = 600
/** What is read of a body without an announced length, in bytes. */
const UNANNOUNCED = 128 * 1024

/**
 * The whole body of at most `limit` bytes. Who sends it so slowly that its memory is held without need is
 * refused: a stalled connection after 10 s.
 */
export async function readSteadily(request: Request, limit: number): Promise<Uint8Array> {
  refuseEncoded(request)
  refuseLonger(request, limit)
  const bytes = new Uint8Array(announcedLength(request) ?? Math.min(limit, UNANNOUNCED))
  const startedAt = performance.now()
  const late = Promise.withResolvers<never>()
  // Nobody may be waiting for it when it comes.
  late.promise.catch(() => {})
  const rate = slowestRate(request)
  let size = 0
  const watch = setInterval(() => {
    const seconds = (performance.now() - startedAt) / 1000
    if (size < (seconds - GRACE) * rate) late.reject(malformed('The body comes too slowly.'))
  }, 1_000)
  try {
    const chunks = chunksOf(request)
    for (;;) {
      const { value, done } = await Promise.race([chunks.next(), late.promise])
      if (done) return bytes.subarray(0, size)
      if (size + value.byteLength > bytes.byteLength) throw tooLarge(limit)
      bytes.set(value, size)
      size += value.byteLength
    }
  } finally {
    clearInterval(watch)
  }
}

/** Seconds that a body of this length takes at most. */
export function longestArrival(request: Request): number {
  return GRACE + (announcedLength(request) ?? UNANNOUNCED) / slowestRate(request)
}

function slowestRate(request: Request): number {
  return Math.max(SLOWEST, (announcedLength(request) ?? 0) / LONGEST)
}
