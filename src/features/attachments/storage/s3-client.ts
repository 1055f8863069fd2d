import { open, stat } from 'node:fs/promises'
import { AppError } from '../../../lib/errors.ts'
import { readTextCapped } from '../../../lib/read-text-capped.ts'
import type { DiskSpace } from './disk-space.ts'
import { MAX_FILE_BYTES } from './files.ts'

type S3Settings = {
  /** Such as `https://s3.eu-central-1.amazonaws.com`. The bucket goes into the path. */
  endpoint: string
  region: string
  bucket: string
  /** The folder of all keys inside of the bucket; empty for none. */
  prefix: string
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string
  /** For how long a request may make no progress, in ms. */
  deadlineMs?: number
}

export type S3Client = ReturnType<typeof createS3Client>

/** Watches one try of a request: `signal` aborts it unless `moved` is called in time. */
type Watch = { signal: AbortSignal; moved: () => void }

const DEADLINE_MS = 10_000
/** A try may take so many times the deadline in all: a store that sends a byte now and then makes progress without end. */
const MAX_DEADLINES = 12
const MAX_ATTEMPTS = 3
const BACKOFF_MS = 200
/** Nothing may decompress a body on the way: its length would no longer be the announced one. */
const PLAIN = { 'accept-encoding': 'identity' }
/** As far as clocks may differ, in seconds. */
const URL_LIFETIME_SECONDS = 15 * 60
/** What may still wait to be sent when the last byte was handed over, and the slowest line, in bytes a ms. */
const SEND_BUFFER_BYTES = 4 * 1024 * 1024
const MIN_BYTES_PER_MS = 250
/** Refusals of a request that may be accepted the next time. */
const TRANSIENT = /^(408|429) |BadDigest$|RequestTimeout$|OperationAborted$|SlowDown$/
/** HEAD does not tell whether it is the object or the bucket. */
const NOT_FOUND = /^(GET|DELETE) NoSuchKey$|^HEAD /
const MAX_ERROR_BYTES = 16 * 1024
const ERROR = /<Code>([^<]*)(?:.*?<Message>([^<]*))?/s

/**
 * Objects of a bucket. What fails for a reason that may pass is tried three times; what fails in the end is
 * `unavailable`, with the store's answer as the cause.
 */
export function createS3Client({ prefix, deadlineMs = DEADLINE_MS, ...account }: S3Settings) {
  const s3 = new Bun.S3Client(account)
  const folder = prefix === '' ? '' : `${prefix}/`
  return { put, get, head, remove, list }

  /** Stores a local file, whole or not at all. */
  async function put(key: string, path: string): Promise<void> {
    const { size } = await stat(path)
    const headers = { 'content-md5': await md5Of(path), 'content-length': String(size) }
    const buffered = Math.min(size, SEND_BUFFER_BYTES) / MIN_BYTES_PER_MS
    await withRetries(deadlineMs + buffered, (watch) =>
      send('PUT', key, watch, { headers, body: readChunks(path, watch) }),
    )
  }

  /** Writes an object into a local file and syncs it: its size in bytes, or null when there is none. */
  function get(key: string, path: string, reserve: DiskSpace['reserve']): Promise<number | null> {
    return withRetries(deadlineMs, async (watch) => {
      const reply = await send('GET', key, watch)
      if (reply === null) return null
      const announced = lengthOf(reply, key)
      using _room = await reserve(announced)
      const size = await write(path, limitChunks(reply, announced, watch))
      if (size === announced) return size
      throw new StoreFault(`${size} of ${announced} bytes of ${key} arrived`, true)
    })
  }

  function head(key: string): Promise<{ size: number; lastModified: Date } | null> {
    return withRetries(deadlineMs, async (watch) => {
      const reply = await send('HEAD', key, watch)
      if (reply === null) return null
      const size = Number(reply.headers.get('content-length'))
      return { size, lastModified: new Date(reply.headers.get('last-modified') ?? '') }
    })
  }

  /** An object that does not exist counts as removed. */
  async function remove(key: string): Promise<void> {
    await withRetries(deadlineMs, (watch) => send('DELETE', key, watch))
  }

  /** All objects, sorted by key. */
  async function* list(): AsyncGenerator<{ key: string; lastModified: Date }> {
    let token: string | undefined
    do {
      const page = await withRetries(deadlineMs, ({ signal }) => listPage(token, signal))
      for (const { key, lastModified } of page.contents ?? []) {
        yield { key: key.slice(folder.length), lastModified: new Date(lastModified ?? '') }
      }
      token = page.isTruncated ? page.nextContinuationToken : undefined
    } while (token !== undefined)
  }

  /** A listing takes no signal: one that is late is left alone. */
  async function listPage(token: string | undefined, signal: AbortSignal) {
    const { promise: late, reject } = Promise.withResolvers<never>()
    signal.addEventListener('abort', () => reject(signal.reason))
    const wanted = { prefix: folder, ...(token === undefined ? {} : { continuationToken: token }) }
    const page = await Promise.race([s3.list(wanted), late]).catch(throwFault)
    if (!page.isTruncated || page.nextContinuationToken) return page
    throw new StoreFault('S3 does not say where the listing goes on', false)
  }

  /** The reply of a request that went well, or null when there is no such object. */
  async function send(
    method: 'PUT' | 'GET' | 'HEAD' | 'DELETE',
    key: string,
    { signal }: Watch,
    content?: Pick<BunFetchRequestInit, 'headers' | 'body'>,
  ): Promise<Response | null> {
    const url = s3.presign(folder + key, { method, expiresIn: URL_LIFETIME_SECONDS })
    const init = { method, signal, redirect: 'manual', decompress: false, headers: PLAIN } as const
    const reply = await fetch(url, { ...init, ...content }).catch(throwFault)
    if (reply.ok) return reply
    const { status } = reply
    const error = (await readTextCapped(reply, MAX_ERROR_BYTES).catch(throwFault)) ?? ''
    const [, code = '', reason = ''] = ERROR.exec(error) ?? []
    if (status === 404 && NOT_FOUND.test(`${method} ${code}`)) return null
    const answer = `S3 answered ${method} of ${key} with ${status} ${code} ${reason}`.trimEnd()
    throw new StoreFault(answer, status >= 500 || TRANSIENT.test(`${status} ${code}`))
  }
}

/** A failure of the store, of the network to it, or its refusal. */
class StoreFault extends Error {
  readonly isTransient: boolean

  constructor(message: string, isTransient: boolean) {
    super(message)
    this.name = 'StoreFault'
    this.isTransient = isTransient
  }
}

/** The error itself stays out of the cause: it holds the URL, and with it the signature. */
function throwFault(error: unknown): never {
  const { code, message: told } = error as { code?: unknown; message: string }
  const message = told.replace(/(https?:[^\s"?]*)\?[^\s"]*/g, '$1')
  const isNamed = typeof code === 'string' && !message.startsWith(code)
  throw new StoreFault(isNamed ? `${code}: ${message}` : message, true)
}

/** Does `work` until it succeeds, three times at most. Each try ends when nothing moves for `deadline` ms, or at its longest. */
async function withRetries<T>(deadline: number, work: (watch: Watch) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    if (tries > 1) await Bun.sleep(BACKOFF_MS * 4 ** (tries - 2) * (0.5 + Math.random()))
    const controller = new AbortController()
    const timer = setTimeout(() => {
      controller.abort(new Error(`S3 made no progress for ${Math.round(deadline)} ms`))
    }, deadline)
    const longest = setTimeout(() => {
      controller.abort(new Error(`S3 took longer than ${Math.round(deadline * MAX_DEADLINES)} ms`))
    }, deadline * MAX_DEADLINES)
    try {
      return await work({ signal: controller.signal, moved: () => void timer.refresh() })
    } catch (error) {
      if (!(error instanceof StoreFault)) throw error
      if (error.isTransient && tries < MAX_ATTEMPTS) continue
      throw new AppError('unavailable', 'The storage is unavailable. Try again in a moment.', {
        retryAfterSeconds: 5,
        cause: error,
      })
    } finally {
      clearTimeout(timer)
      clearTimeout(longest)
      // Whatever else the store sends is not taken.
      controller.abort()
    }
  }
}

/** The chunks of a file on their way out. A `BunFile` as a body would be read into memory whole for TLS. */
async function* readChunks(path: string, { moved }: Watch): AsyncGenerator<Uint8Array> {
  for await (const chunk of Bun.file(path).stream()) {
    moved()
    yield chunk
  }
}

/** The size that the store announces of an object. What is larger than any file of ours, or was changed on the way, is none. */
function lengthOf({ headers }: Response, key: string): number {
  const announced = headers.get('content-length')
  const isPlain = (headers.get('content-encoding') ?? 'identity') === 'identity'
  if (announced !== null && Number(announced) <= MAX_FILE_BYTES && isPlain) return Number(announced)
  throw new StoreFault(`S3 does not answer with a file of ours for ${key}`, false)
}

/** Ends where more arrives than was announced. */
async function* limitChunks({ body }: Response, announced: number, { moved }: Watch) {
  let size = 0
  try {
    for await (const chunk of body ?? []) {
      moved()
      size += chunk.byteLength
      if (size > announced) break
      yield chunk
    }
  } catch (error) {
    throwFault(error)
  }
}

async function write(path: string, chunks: AsyncIterable<Uint8Array>): Promise<number> {
  await using file = await open(path, 'w', 0o600)
  let size = 0
  for await (const chunk of chunks) {
    await file.writeFile(chunk)
    size += chunk.byteLength
  }
  await file.sync()
  return size
}

async function md5Of(path: string): Promise<string> {
  const hasher = new Bun.CryptoHasher('md5')
  for await (const chunk of Bun.file(path).stream()) hasher.update(chunk)
  return hasher.digest('base64')
}
