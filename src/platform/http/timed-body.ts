import { chunksOf, rejectEncodedBody, tooLarge } from './body.ts'
import { malformed } from './errors.ts'

/** A body must arrive at `bytesPerSecond` at least, after `grace` seconds in which it need not. */
type MinimumRate = { bytesPerSecond: number; grace: number }

/** Bytes a second. */
export const MIN_RATE = 8 * 1024
const GRACE = 10
/** A large body that is held in memory must arrive within so many seconds. */
const MAX_DURATION = 600
/** As long as a body without an announced length is taken to be, in bytes: such are small. */
const UNANNOUNCED = 128 * 1024

/** The body as it arrives. Time counts only while we wait for the sender, not while a chunk is worked on. */
export async function* chunksAtMinimumRate(
  request: Request,
  { bytesPerSecond, grace }: MinimumRate,
): AsyncGenerator<Uint8Array> {
  const chunks = chunksOf(request)
  let size = 0
  let waited = 0
  try {
    for (;;) {
      const startedAt = performance.now()
      const { promise: late, reject } = Promise.withResolvers<never>()
      const left = (grace + size / bytesPerSecond) * 1000 - waited
      const timer = setTimeout(() => reject(malformed('The body is arriving too slowly.')), left)
      const { value, done } = await Promise.race([chunks.next(), late]).finally(() =>
        clearTimeout(timer),
      )
      if (done) return
      waited += performance.now() - startedAt
      size += value.byteLength
      yield value
    }
  } finally {
    // A read that is still pending would be waited for.
    void chunks.return(undefined).catch(() => {})
  }
}

/**
 * The whole body, which has announced `length` bytes. Who sends it so slowly that its memory is held
 * without need is refused: a stalled connection after 10 s.
 */
export async function readWithMinimumRate(request: Request, length: number): Promise<Uint8Array> {
  rejectEncodedBody(request)
  const bytes = new Uint8Array(length)
  const rate = { bytesPerSecond: slowestRate(length), grace: GRACE }
  let size = 0
  for await (const chunk of chunksAtMinimumRate(request, rate)) {
    if (size + chunk.byteLength > length) throw tooLarge(length)
    bytes.set(chunk, size)
    size += chunk.byteLength
  }
  return bytes.subarray(0, size)
}

/** Seconds that a body of this length takes at most; null when none was announced. */
export function maxArrivalTime(announced: number | null): number {
  const length = announced ?? UNANNOUNCED
  return GRACE + length / slowestRate(length)
}

function slowestRate(length: number): number {
  return Math.max(MIN_RATE, length / MAX_DURATION)
}
