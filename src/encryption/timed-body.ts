import { chunksOf, rejectEncodedBody, tooLarge } from '../http/body.ts'
import { malformed } from '../http/errors.ts'

/** A body has to come at this rate at least, after some seconds in which it need not: bytes a second. */
const MIN_RATE = 8 * 1024
const GRACE = 10
/** A large one has to come within so many seconds all the same. */
const MAX_DURATION = 600
/** As long as a body without an announced length is taken to be, in bytes: such are small. */
const UNANNOUNCED = 128 * 1024

/**
 * The whole body, which has announced `length` bytes. Who sends it so slowly that its memory is held
 * without need is refused: a stalled connection after 10 s.
 */
export async function readWithMinimumRate(request: Request, length: number): Promise<Uint8Array> {
  rejectEncodedBody(request)
  const bytes = new Uint8Array(length)
  const startedAt = performance.now()
  const late = Promise.withResolvers<never>()
  // Nobody may be waiting for it when it comes.
  late.promise.catch(() => {})
  const rate = slowestRate(length)
  let size = 0
  const watch = setInterval(() => {
    const seconds = (performance.now() - startedAt) / 1000
    if (size < (seconds - GRACE) * rate) late.reject(malformed('The body is arriving too slowly.'))
  }, 1_000)
  try {
    const chunks = chunksOf(request)
    for (;;) {
      const { value, done } = await Promise.race([chunks.next(), late.promise])
      if (done) return bytes.subarray(0, size)
      if (size + value.byteLength > length) throw tooLarge(length)
      bytes.set(value, size)
      size += value.byteLength
    }
  } finally {
    clearInterval(watch)
  }
}

/** Seconds that a body of this length takes at most; null when none was announced. */
export function maxArrivalTime(announced: number | null): number {
  const length = announced ?? UNANNOUNCED
  return GRACE + length / slowestRate(length)
}

function slowestRate(length: number): number {
  return Math.max(MIN_RATE, length / MAX_DURATION)
}
