import { open } from 'node:fs/promises'
import { readTextCapped } from '../../../lib/bounded-fetch.ts'
import { AppError } from '../../../lib/errors.ts'
import type { DiskSpace } from './disk-space.ts'
import { MAX_FILE_BYTES } from './files.ts'
import { StoreFault } from './store-fault.ts'

type S3Settings = {
  /** Such as `https://s3.eu-central-1.amazonaws.com`; the bucket is part of the path. */
  endpoint: string
  region: string
  bucket: string
  /** The folder of all keys in the bucket; empty for none. */
  prefix: string
  accessKeyId: string
  secretAccessKey: string
  sessionToken?: string
  /** The longest time without progress, in ms. */
  deadlineMs?: number
}

export type S3Client = ReturnType<typeof createS3Client>

/** Watches one attempt of a request: `signal` aborts it unless `onProgress` is called in time. */
type Watch = { signal: AbortSignal; onProgress: () => void }

const DEADLINE_MS = 10_000
/**
 * The time limit of an attempt, in deadlines: sending a byte at a time counts as progress forever.
 */
const MAX_DEADLINES = 12
const MAX_ATTEMPTS = 3
const BACKOFF_MS = 200
/** A decompressed body would not have the announced length. */
const NO_COMPRESSION = { 'accept-encoding': 'identity' }
/** Long, because the clocks may differ. */
const URL_LIFETIME_SECONDS = 15 * 60
/**
 * The bytes that may still be buffered after the last write, and the slowest supported connection.
 */
const SEND_BUFFER_BYTES = 4 * 1024 * 1024
const MIN_BYTES_PER_MS = 250
/** Errors that a retry may resolve. */
const TRANSIENT = /^(408|429) |BadDigest$|RequestTimeout$|OperationAborted$|SlowDown$/
/** A reply to HEAD does not say whether the object or the bucket is missing. */
const NOT_FOUND = /^(GET|DELETE) NoSuchKey$|^HEAD /
const MAX_ERROR_BYTES = 16 * 1024
const ERROR_PATTERN = /<Code>([^<]*)(?:.*?<Message>([^<]*))?/s

/**
 * Reads and writes objects in a bucket. A transient failure is retried twice; then `unavailable` is thrown,
 * with the store's reply as the cause.
 */
export function createS3Client({ prefix, deadlineMs = DEADLINE_MS, ...account }: S3Settings) {
  const s3 = new Bun.S3Client(account)
  const folder = prefix === '' ? '' : `${prefix}/`
  return { put, putText, get, readText, head, remove, list, probe }

  /** Stores a local file atomically. */
  async function put(key: string, file: Blob): Promise<void> {
    const { size } = file
    const md5 = await md5Of(file)
    const headers = { 'content-md5': md5.toString('base64'), 'content-length': String(size) }
    const buffered = Math.min(size, SEND_BUFFER_BYTES) / MIN_BYTES_PER_MS
    await withRetries(deadlineMs + buffered, async (watch) => {
      const reply = await send('PUT', key, watch, { headers, body: readChunks(file, watch) })
      if (reply && etagOf(reply) === md5.toString('hex')) return
      // A store that encrypts with its own keys does not return the hash.
      const stored = reply && isEncrypted(reply) ? await send('HEAD', key, watch) : null
      const hasSize = Number(stored?.headers.get('content-length')) === size
      if (reply && stored && hasSize && etagOf(stored) && etagOf(stored) === etagOf(reply)) return
      throw new StoreFault(`S3 replied to PUT ${key} with success, but not with its ETag`, false)
    })
  }

  /** Throws `unavailable` unless an object can be stored. */
  function probe(): Promise<void> {
    return put('probe', new Blob(['probe']))
  }

  /** Stores a small text. */
  async function putText(key: string, text: string): Promise<void> {
    const headers = { 'content-length': String(Buffer.byteLength(text)) }
    await withRetries(deadlineMs, (watch) => send('PUT', key, watch, { headers, body: text }))
  }

  /** A small text; null if it does not exist. */
  function readText(key: string): Promise<string | null> {
    return withRetries(deadlineMs, async (watch) => {
      const reply = await send('GET', key, watch)
      return reply && (await readTextCapped(reply, MAX_ERROR_BYTES).catch(throwFault))
    })
  }

  /** Downloads an object to a local file and syncs it. Returns its size, or null if it does not exist. */
  function get(key: string, path: string, reserve: DiskSpace['reserve']): Promise<number | null> {
    return withRetries(deadlineMs, async (watch) => {
      const reply = await send('GET', key, watch)
      if (reply === null) return null
      const announced = lengthOf(reply, key)
      const limit = announced ?? MAX_FILE_BYTES
      using _room = await reserve(limit)
      const size = await write(path, limitChunks(reply, limit, watch))
      if (announced === null || size === announced) return size
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

  /** Bun's `list` takes no signal, so a late listing is abandoned. */
  async function listPage(token: string | undefined, signal: AbortSignal) {
    const { promise: late, reject } = Promise.withResolvers<never>()
    signal.addEventListener('abort', () => reject(signal.reason))
    const wanted = { prefix: folder, ...(token === undefined ? {} : { continuationToken: token }) }
    const page = await Promise.race([s3.list(wanted), late]).catch(throwFault)
    if (!page.isTruncated || page.nextContinuationToken) return page
    throw new StoreFault('S3 returned no continuation token for a truncated listing', false)
  }

  /** The successful reply, or null if the object does not exist. */
  async function send(
    method: 'PUT' | 'GET' | 'HEAD' | 'DELETE',
    key: string,
    { signal }: Watch,
    content?: Pick<BunFetchRequestInit, 'headers' | 'body'>,
  ): Promise<Response | null> {
    const url = s3.presign(folder + key, { method, expiresIn: URL_LIFETIME_SECONDS })
    const init = {
      method,
      signal,
      redirect: 'manual',
      decompress: false,
      headers: NO_COMPRESSION,
    } as const
    const reply = await fetch(url, { ...init, ...content }).catch(throwFault)
    if (reply.ok) return reply
    const { status } = reply
    const error = (await readTextCapped(reply, MAX_ERROR_BYTES).catch(throwFault)) ?? ''
    const [, code = '', reason = ''] = ERROR_PATTERN.exec(error) ?? []
    if (status === 404 && NOT_FOUND.test(`${method} ${code}`)) return null
    const message = `S3 replied to ${method} ${key} with ${status} ${code} ${reason}`.trimEnd()
    throw new StoreFault(message, status >= 500 || TRANSIENT.test(`${status} ${code}`))
  }
}

/** Leaves the original error out of the cause, because its URL holds the signature. */
function throwFault(error: unknown): never {
  const { code, message: original } = error as { code?: unknown; message: string }
  const message = original.replace(/(https?:[^\s"?]*)\?[^\s"]*/g, '$1')
  const isNamed = typeof code === 'string' && !message.startsWith(code)
  throw new StoreFault(isNamed ? `${code}: ${message}` : message, true)
}

/**
 * Runs `work` up to three times. An attempt ends after `deadline` ms without progress, or at its
 * time limit.
 */
async function withRetries<T>(deadline: number, work: (watch: Watch) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    if (tries > 1) await Bun.sleep(BACKOFF_MS * 4 ** (tries - 2) * (0.5 + Math.random()))
    const controller = new AbortController()
    const timer = setTimeout(() => {
      controller.abort(new Error(`S3 made no progress for ${Math.round(deadline)} ms`))
    }, deadline)
    const limitTimer = setTimeout(() => {
      controller.abort(new Error(`S3 took longer than ${Math.round(deadline * MAX_DEADLINES)} ms`))
    }, deadline * MAX_DEADLINES)
    try {
      return await work({ signal: controller.signal, onProgress: () => void timer.refresh() })
    } catch (error) {
      if (!(error instanceof StoreFault)) throw error
      if (error.isTransient && tries < MAX_ATTEMPTS) continue
      throw new AppError('unavailable', 'The storage is unavailable. Try again in a moment.', {
        retryAfterSeconds: 5,
        cause: error,
      })
    } finally {
      clearTimeout(timer)
      clearTimeout(limitTimer)
      // Ignore anything else that the store sends.
      controller.abort()
    }
  }
}

/** The chunks of a file. With TLS, a `BunFile` as the body would be read into memory completely. */
async function* readChunks(file: Blob, { onProgress }: Watch): AsyncGenerator<Uint8Array> {
  for await (const chunk of file.stream()) {
    onProgress()
    yield chunk
  }
}

/**
 * The announced size of an object; null if the store does not name it. Throws if it exceeds our limit or the body was
 * encoded. Some stores keep the encoding of an upload in chunks, which the body no longer has.
 */
function lengthOf({ headers }: Response, key: string): number | null {
  const announced = headers.get('content-length')
  const isPlain = /^(identity|aws-chunked|)$/.test(headers.get('content-encoding') ?? '')
  if (Number(announced) <= MAX_FILE_BYTES && isPlain)
    return announced === null ? null : Number(announced)
  throw new StoreFault(`S3 returned an unexpected object for ${key}`, false)
}

/** Stops when more than `limit` bytes arrive. */
async function* limitChunks({ body }: Response, limit: number, { onProgress }: Watch) {
  let size = 0
  try {
    for await (const chunk of body ?? []) {
      onProgress()
      size += chunk.byteLength
      if (size > limit) throw new StoreFault(`more than ${limit} bytes arrived`, false)
      yield chunk
    }
  } catch (error) {
    if (error instanceof StoreFault) throw error
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

async function md5Of(file: Blob): Promise<Buffer> {
  const hasher = new Bun.CryptoHasher('md5')
  for await (const chunk of file.stream()) hasher.update(chunk)
  return hasher.digest()
}

function etagOf({ headers }: Response): string | undefined {
  return headers
    .get('etag')
    ?.replace(/^W\/|"/g, '')
    .toLowerCase()
}

function isEncrypted({ headers }: Response): boolean {
  return [...headers].some(([name, value]) => /^x-(amz|goog)-.*kms/.test(`${name} ${value}`))
}
