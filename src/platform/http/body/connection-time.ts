import type { Server, SocketAddress } from 'bun'
import { describeConnection, readSendingIdleTimes } from '../../../lib/net/sockets.ts'
import { arrivesTooSlowly, atMinimumRate, PATIENT_RATE } from './arrival.ts'
import { hasUnreadBody, rejectEncodedBody, streamChunks, tooLarge } from './body.ts'

const unlimited = new WeakSet<Request>()
const files = new WeakSet<Request>()

export function disableIdleTimeout(request: Request, server: Server<unknown> | null) {
  server?.timeout(request, 0)
  unlimited.add(request)
}

/** The runtime's maximum. */
const MAX_SECONDS = 255
/** The runtime checks timeouts every four seconds. */
const RENEW_MS = 4_000
/** A file's reader may stall for this long, and then for as long as an idle connection. */
const MAX_STILL_MS = 60_000

/** For a response that is a file: the runtime would give its reader the shortest timeout. */
export function allowReaderPauses(request: Request) {
  files.add(request)
}

/** Removes the idle timeout while a body arrives: the code that reads it has its own. */
export function awaitBody(request: Request, server: Server<unknown> | null) {
  if (request.method !== 'GET' && request.method !== 'HEAD') server?.timeout(request, 0)
}

/** Keeps the connection of an answered request open for `seconds`, for the next one. */
export function keepConnection(request: Request, server: Server<unknown>, seconds: number) {
  if (unlimited.has(request)) return
  server.timeout(request, hasUnreadBody(request) ? MAX_SECONDS : seconds)
  if (!files.has(request)) return
  const peer = server.requestIP(request)
  // Formatting an address is slow, so it is done when a timeout is renewed.
  const key = peer === null ? request : `${server.port} ${peer.address} ${peer.port}`
  readers.set(key, { request, server, peer, seconds, startedAt: performance.now() })
  renewing ??= setInterval(renewTimeouts, RENEW_MS).unref()
}

type Reader = {
  request: Request
  server: Server<unknown>
  peer: SocketAddress | null
  seconds: number
  startedAt: number
}

/** The last request for a file on each connection, or every such request if the peer is unknown. */
const readers = new Map<string | Request, Reader>()
let renewing: Timer | null = null

/** Each write sets the timeout again, so it is renewed while a file is sent. */
function renewTimeouts() {
  const ports = new Set([...readers.values()].map(({ server }) => server.port ?? 0))
  const idleTimes = readSendingIdleTimes([...ports])
  for (const [key, { request, server, peer, seconds, startedAt }] of readers) {
    const stillMs =
      idleTimes === null || peer === null
        ? performance.now() - startedAt
        : idleTimes.get(describeConnection(server.port ?? 0, peer))
    if (stillMs === undefined || stillMs > MAX_STILL_MS) readers.delete(key)
    else server.timeout(request, seconds)
  }
  if (readers.size > 0 || renewing === null) return
  clearInterval(renewing)
  renewing = null
}

/** How many connections to `port` are kept open because they were sent a file. */
export function countFileReaders(port: number): number {
  return [...readers.values()].filter(({ server }) => server.port === port).length
}

/** While others wait for the memory that bodies occupy, a slow one is refused with `onContended()`. */
type Contention = { isContended: () => boolean; onContended: () => Error }

/** Larger sealed messages are uploads. */
const LARGE_SEALED = 512 * 1024
/** In bytes per second. */
const MIN_RATE = 8 * 1024
/** An upload may pause for a minute, or for less while others wait for the memory. */
const GRACE_SECONDS = 90
const CONTENDED_GRACE_SECONDS = 10
/** The minimum rate of uploads that are written to the disk. */
export const MIN_UPLOAD_RATE = { grace: GRACE_SECONDS, bytesPerSecond: () => MIN_RATE }
/** How long a large body that is held in memory may take. */
const MAX_DURATION_SECONDS = 600
/** The minimum rate of such a body while others wait, in bytes per second. */
const CONTENDED_RATE = 256 * 1024

/** Refuses a sender that is too slow, because the body of `length` bytes occupies memory. */
export async function readWithMinimumRate(
  request: Request,
  length: number,
  { isContended, onContended }: Contention,
): Promise<Uint8Array> {
  rejectEncodedBody(request)
  const bytes = new Uint8Array(length)
  const rate = {
    bytesPerSecond: () => (isContended() ? CONTENDED_RATE : slowestRate(length)),
    get grace() {
      return isContended() ? CONTENDED_GRACE_SECONDS : GRACE_SECONDS
    },
    onLate: () => (isContended() ? onContended() : arrivesTooSlowly()),
  }
  let size = 0
  for await (const chunk of atMinimumRate(streamChunks(request), rate)) {
    if (size + chunk.byteLength > length) throw tooLarge(length)
    bytes.set(chunk, size)
    size += chunk.byteLength
  }
  return bytes.subarray(0, size)
}

/** How long a body may take, in seconds, by its Content-Length if it has one. */
export function maxArrivalTime(contentLength: number | null): number {
  const length = contentLength ?? LARGE_SEALED
  return length > LARGE_SEALED
    ? GRACE_SECONDS + length / slowestRate(length)
    : PATIENT_RATE.grace + length / PATIENT_RATE.bytesPerSecond()
}

function slowestRate(length: number): number {
  return Math.max(MIN_RATE, length / MAX_DURATION_SECONDS)
}
