import { createShares, createTaskQueue } from '../../lib/concurrency/slots.ts'
import { sha256 } from '../../lib/crypto/hash.ts'
import type { KeyRing } from '../../lib/crypto/key-ring.ts'
import { AppError, tooBusy } from '../../lib/errors.ts'
import { readToken } from '../http/authenticate.ts'
import {
  hasBody,
  LARGE_JSON_LIMIT,
  readBody,
  readContentLength,
  readMediaType,
} from '../http/body/body.ts'
import { maxArrivalTime, readWithMinimumRate } from '../http/body/connection-time.ts'
import { malformed } from '../http/replies/errors.ts'
import { readPath, readTarget } from '../http/request/request-url.ts'
import { invalidMessage, MAX_MAIN_THREAD_BYTES, openRequest } from './message.ts'
import type { ReplayGuard } from './replay-guard.ts'

export type OpenerDeps = {
  keys: Pick<KeyRing, 'find' | 'findJwk'>
  replayGuard: Pick<ReplayGuard, 'remember'>
  /** The only path with large bodies. */
  uploadPath: string
  now: () => Date
}

const UPLOAD_MIB = 16
/** The size of an opened upload, in bytes. */
const UPLOAD_LIMIT = UPLOAD_MIB * 1024 * 1024
/** How many sealed uploads of the maximum size are in memory at once; each IP address may have one. */
const MAX_CONCURRENT_UPLOADS = 4
const MAX_UPLOADS_WAITING = 200
const MAX_WAITING_PER_ADDRESS = 20
/** How long a message may wait to be read or opened. */
const MAX_WAIT_SECONDS = 60
/** How many large messages are opened at once: opening takes several times their size in memory. */
const MAX_CONCURRENT_OPENINGS = 8
const MAX_OPENINGS_WAITING = 500
/** How far the clocks of an app and the server may differ. */
const CLOCK_TOLERANCE_SECONDS = 300
/** Added to the time that messages are remembered. */
const MARGIN_SECONDS = 60

/** Opens sealed requests, and checks that each message is new, recent and sealed for its own request. */
export function createOpener({ keys, replayGuard, uploadPath, now }: OpenerDeps) {
  // The whole upload is held in memory until it is opened.
  const share = sealedLimit(UPLOAD_LIMIT)
  const memory = createShares({
    total: MAX_CONCURRENT_UPLOADS * share,
    share,
    queueLimit: MAX_UPLOADS_WAITING,
    queueShare: MAX_WAITING_PER_ADDRESS,
    onFull: tooManyUploads,
  })
  const limitOpenings = createTaskQueue({
    limit: MAX_CONCURRENT_OPENINGS,
    queueLimit: MAX_OPENINGS_WAITING,
    maxWait: MAX_WAIT_SECONDS * 1000,
    onFull: tooManyMessages,
  })
  const contention = { isContended: memory.isContended, onContended: tooManyUploads }
  return { isUpload, admitUpload, open }

  function isUpload(request: Request): boolean {
    return request.method === 'POST' && readPath(request) === uploadPath
  }

  /** Waits for the memory of an upload before its body is read. Dispose of the result once the request is answered. */
  async function admitUpload(request: Request, address: string): Promise<Disposable> {
    const size = readContentLength(request)
    if (size === null) throw malformed('Send a sealed upload with its Content-Length.')
    if (size > share) throw tooLargeUpload()
    const timeout = AbortSignal.timeout(MAX_WAIT_SECONDS * 1000)
    return memory.reserve(address, size, AbortSignal.any([request.signal, timeout]))
  }

  /**
   * Throws `encryption_…` and errors of the body. Call `claim`, if any, before a change: it throws for a repeated
   * message.
   */
  async function open(request: Request, arrivedAt: Date) {
    const text = await readMessage(request)
    const opening = () => openRequest(text, keys)
    const opened = await (text.length > MAX_MAIN_THREAD_BYTES ? limitOpenings(opening) : opening())
    const { jti, iat, htm, htu, ath, at } = opened.head
    const arrival = Math.floor(arrivedAt.getTime() / 1000)
    const age = arrival - iat
    if (Math.abs(age) > CLOCK_TOLERANCE_SECONDS) throw stale(now())
    const token = findToken(request, at)
    const isBound =
      htm === request.method &&
      htu === readTarget(request) &&
      ath === (token === null ? null : sha256(token))
    if (!isBound) throw invalidMessage()
    if (/^(GET|HEAD)$/.test(htm)) return { opened, claim: null }
    // A replay sent at the last moment may still be queued, or be arriving slowly, until this time.
    const until =
      Math.max(iat, arrival) +
      CLOCK_TOLERANCE_SECONDS +
      MAX_WAIT_SECONDS +
      maxArrivalTime(readContentLength(request)) +
      MARGIN_SECONDS
    return { opened, claim }

    async function claim() {
      if (await replayGuard.remember(sha256(jti), new Date(until * 1000))) return
      throw new AppError('encryption_replay', 'This message was already received.')
    }
  }

  /** The message is the body, or the `Payload` header of a request without a body. */
  async function readMessage(request: Request): Promise<string> {
    const header = request.headers.get('payload')
    if (isJose(request)) {
      if (header !== null) throw invalidMessage()
      const reading = isUpload(request)
        ? readWithMinimumRate(request, readContentLength(request) ?? 0, contention)
        : readBody(request, sealedLimit(LARGE_JSON_LIMIT))
      return Buffer.from(await reading).toString('latin1')
    }
    // A body alongside a message in the header would be neither secret nor bound to it.
    if (header === null || hasBody(request)) throw invalidMessage()
    return header
  }
}

/** The access token, from the Authorization header or from inside the message. */
function findToken(request: Request, sealedToken: string | undefined): string | null {
  const header = request.headers.get('authorization')
  const token = readToken(header)
  if (header !== null && (token === null || sealedToken !== undefined)) throw invalidMessage()
  return sealedToken ?? token
}

export function isJose(request: Request): boolean {
  return readMediaType(request) === 'application/jose'
}

/** The maximum size of a sealed message: its content in base64url plus its headers. */
function sealedLimit(inner: number): number {
  return Math.ceil((inner * 4) / 3) + 8 * 1024
}

/** The message contains the server's time in ISO 8601, for apps whose clock is wrong. */
function stale(at: Date): AppError {
  const sentence = `The message was not sealed recently. The server time is ${at.toISOString()}`
  return new AppError('encryption_stale', sentence)
}

function tooManyUploads(): AppError {
  return tooBusy('Too many uploads at once. Try again in a moment.')
}

function tooManyMessages(): AppError {
  return tooBusy('Too many sealed requests at once. Try again in a moment.')
}

/** States the limit for the files, because apps do not know the size of the sealed message. */
function tooLargeUpload(): AppError {
  const message = `A sealed upload must not exceed ${UPLOAD_MIB} MiB in total.`
  return new AppError('payload_too_large', message)
}
