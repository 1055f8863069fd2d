import { open } from 'node:fs/promises'
import { readTextCapped } from '../../../../lib/net/bounded-fetch.ts'
import type { DiskSpace } from '../disk-space.ts'
import { MAX_FILE_BYTES } from '../files.ts'
import { StoreError } from './fault.ts'
import { signParameters, throwStoreError, type Watch, withRetries } from './requests.ts'

export type S3Settings = {
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

const DEADLINE_MS = 10_000
/** A decompressed body would not have the announced length. */
const NO_COMPRESSION = { 'accept-encoding': 'identity' }
/** Long, because the clocks may differ. */
const URL_LIFETIME_SECONDS = 15 * 60
/** The bytes that may be unsent after the last write, and the slowest supported connection. */
const SEND_BUFFER_BYTES = 4 * 1024 * 1024
const MIN_BYTES_PER_MS = 250
/** Errors that a retry may resolve. */
const TRANSIENT = /^(408|429) |BadDigest$|RequestTimeout$|OperationAborted$|SlowDown$/
/** A response to HEAD does not say whether the object or the bucket is missing. */
const NOT_FOUND = /^(GET|DELETE) NoSuchKey$|^HEAD /
const MAX_ERROR_BYTES = 16 * 1024
/** The deadline of `call` is longer, because a store may need time to join the parts of a large object. */
const CALL_DEADLINE_FACTOR = 6
const MAX_REPLY_BYTES = 4 * 1024 * 1024
/** An object is read in pieces of this size, so that a lost connection costs one of them. */
const PIECE_BYTES = 8 * 1024 * 1024
const ERROR_PATTERN = /<Code>([^<]*)(?:.*?<Message>([^<]*))?/s

/** Retries transient failures twice, then throws `unavailable` with the store's response as the cause. */
export function createS3Client({ prefix, deadlineMs = DEADLINE_MS, ...account }: S3Settings) {
  const s3 = new Bun.S3Client(account)
  const folder = prefix === '' ? '' : `${prefix}/`
  return { put, putPart, putText, get, read, getText, head, remove, list, probe, call, listUploads }

  /** Atomically. */
  async function put(key: string, file: Blob): Promise<void> {
    await upload(key, file, {}, async (reply, watch) => {
      const stored = await send('HEAD', key, watch)
      const hasSize = Number(stored?.headers.get('content-length')) === file.size
      return stored !== null && hasSize && readEtag(stored) === readEtag(reply)
    })
  }

  /** Returns its ETag. */
  function putPart(key: string, part: Blob, parameters: Record<string, string>): Promise<string> {
    return upload(key, part, parameters, async () => true)
  }

  /** A store that encrypts with its own keys does not return the hash, so `isStored` decides. */
  async function upload(
    key: string,
    file: Blob,
    parameters: Record<string, string>,
    isStored: (reply: Response, watch: Watch) => Promise<boolean>,
  ): Promise<string> {
    const { size } = file
    const md5 = await computeMd5(file)
    const headers = { 'content-md5': md5.toString('base64'), 'content-length': String(size) }
    const buffered = Math.min(size, SEND_BUFFER_BYTES) / MIN_BYTES_PER_MS
    return withRetries(deadlineMs + buffered, async (watch) => {
      const content = { headers, body: readChunks(file, watch) }
      const reply = await send('PUT', key, watch, content, parameters)
      const etag = reply && readEtag(reply)
      if (etag === md5.toString('hex')) return etag
      if (reply && etag && isEncrypted(reply) && (await isStored(reply, watch))) return etag
      throw new StoreError(`S3 reported success for PUT ${key}, but returned another ETag`, false)
    })
  }

  /** Throws `unavailable` unless an object can be stored. */
  function probe(): Promise<void> {
    return put('probe', new Blob(['probe']))
  }

  async function putText(key: string, text: string): Promise<void> {
    const headers = { 'content-length': String(Buffer.byteLength(text)) }
    await withRetries(deadlineMs, (watch) => send('PUT', key, watch, { headers, body: text }))
  }

  /** Null if it does not exist. */
  function getText(key: string): Promise<string | null> {
    return withRetries(deadlineMs, async (watch) => {
      const reply = await send('GET', key, watch)
      return reply && (await readTextCapped(reply, MAX_ERROR_BYTES).catch(throwStoreError))
    })
  }

  /** Downloads an object to a local file and syncs it. Returns its size, or null if it does not exist. */
  function get(key: string, path: string, reserve: DiskSpace['reserve']): Promise<number | null> {
    return withRetries(deadlineMs, async (watch) => {
      const reply = await send('GET', key, watch)
      if (reply === null) return null
      const announced = readLength(reply, key)
      const limit = announced ?? MAX_FILE_BYTES
      using _room = await reserve(limit)
      const size = await write(path, limitChunks(reply, limit, watch))
      if (announced === null || size === announced) return size
      throw new StoreError(`${size} of ${announced} bytes of ${key} arrived`, true)
    })
  }

  /** The pieces of an object of `size` bytes. Throws `unavailable` if it has fewer. */
  async function* read(key: string, size: number): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < size; at += PIECE_BYTES)
      yield await readPiece(key, at, Math.min(size - at, PIECE_BYTES))
  }

  function readPiece(key: string, first: number, size: number): Promise<Uint8Array> {
    const headers = { ...NO_COMPRESSION, range: `bytes=${first}-${first + size - 1}` }
    return withRetries(deadlineMs, async (watch) => {
      const reply = await send('GET', key, watch, { headers })
      if (reply === null) throw new StoreError(`${key} does not exist`, false)
      const piece = Buffer.concat(await Array.fromAsync(limitChunks(reply, size, watch)))
      if (piece.byteLength === size) return piece
      throw new StoreError(`${piece.byteLength} of ${size} bytes of ${key} arrived`, true)
    })
  }

  function head(key: string): Promise<{ size: number; lastModified: Date; etag: string } | null> {
    return withRetries(deadlineMs, async (watch) => {
      const reply = await send('HEAD', key, watch)
      if (reply === null) return null
      const size = Number(reply.headers.get('content-length'))
      const lastModified = new Date(reply.headers.get('last-modified') ?? '')
      return { size, lastModified, etag: readEtag(reply) ?? '' }
    })
  }

  /** An object that does not exist counts as removed. */
  async function remove(key: string): Promise<void> {
    await withRetries(deadlineMs, (watch) => send('DELETE', key, watch))
  }

  /** Sorted by key. With a delimiter, excludes keys that contain it after `start`. */
  async function* list(
    start = '',
    delimiter?: string,
  ): AsyncGenerator<{ key: string; size: number; lastModified: Date }> {
    let token: string | undefined
    do {
      const options = {
        prefix: folder + start,
        ...(delimiter === undefined ? {} : { delimiter }),
        ...(token === undefined ? {} : { continuationToken: token }),
      }
      const page = await withRetries(deadlineMs, ({ signal }) => listPage(options, signal))
      for (const { key, size = 0, lastModified } of page.contents ?? []) {
        yield { key: key.slice(folder.length), size, lastModified: new Date(lastModified ?? '') }
      }
      token = page.isTruncated ? page.nextContinuationToken : undefined
    } while (token !== undefined)
  }

  /** Bun's `list` takes no signal, so a late listing is abandoned. */
  async function listPage(options: Bun.S3ListObjectsOptions, signal: AbortSignal) {
    const { promise: late, reject } = Promise.withResolvers<never>()
    signal.addEventListener('abort', () => reject(signal.reason))
    const page = await Promise.race([s3.list(options), late]).catch(throwStoreError)
    if (!page.isTruncated || page.nextContinuationToken) return page
    throw new StoreError('S3 returned no continuation token for a truncated listing', false)
  }

  /** The incomplete multipart uploads whose keys begin with `start`, as XML. */
  function listUploads(start: string): Promise<string> {
    return call('GET', '', { uploads: '', delimiter: '/', prefix: folder + start })
  }

  /** Sends a request with parameters, to the bucket if `key` is empty, and returns the text of the response. */
  function call(
    method: 'POST' | 'DELETE' | 'GET',
    key: string,
    parameters: Record<string, string>,
    body?: string,
  ): Promise<string> {
    return withRetries(deadlineMs * CALL_DEADLINE_FACTOR, async (watch) => {
      const reply = await send(method, key, watch, body === undefined ? {} : { body }, parameters)
      const text =
        (reply && (await readTextCapped(reply, MAX_REPLY_BYTES).catch(throwStoreError))) ?? ''
      if (!text.includes('<Error>')) return text
      // When completing an upload, the store may report an error after the status 200.
      throw new StoreError(`S3 answered ${method} ${key} with 200 ${readError(text).code}`, true)
    })
  }

  /** Null if the object does not exist. */
  async function send(
    method: 'PUT' | 'GET' | 'HEAD' | 'DELETE' | 'POST',
    key: string,
    { signal }: Watch,
    content?: { headers?: Record<string, string>; body?: AsyncIterable<Uint8Array> | string },
    parameters: Record<string, string> = {},
  ): Promise<Response | null> {
    const options = { method, expiresIn: URL_LIFETIME_SECONDS }
    const presigned =
      key === '' ? s3.presign('-', options).replace('/-?', '?') : s3.presign(folder + key, options)
    const url = signParameters(presigned, method, parameters, account.secretAccessKey)
    const init = {
      method,
      signal,
      redirect: 'manual',
      decompress: false,
      headers: NO_COMPRESSION,
    } as const
    const request = { ...init, ...content } as BunFetchRequestInit
    const reply = await fetch(url, request).catch(throwStoreError)
    if (reply.ok) return reply
    const { status } = reply
    const text = (await readTextCapped(reply, MAX_ERROR_BYTES).catch(throwStoreError)) ?? ''
    const { code, reason } = readError(text)
    if (status === 404 && NOT_FOUND.test(`${method} ${code}`)) return null
    const message = `S3 answered ${method} ${key} with ${status} ${code} ${reason}`.trimEnd()
    throw new StoreError(message, status >= 500 || TRANSIENT.test(`${status} ${code}`))
  }
}

function readError(text: string) {
  const [, code = '', reason = ''] = ERROR_PATTERN.exec(text) ?? []
  return { code, reason }
}

/** The chunks of a file. With TLS, a `BunFile` as the body would be read into memory completely. */
async function* readChunks(file: Blob, { onProgress }: Watch): AsyncGenerator<Uint8Array> {
  for await (const chunk of file.stream()) {
    onProgress()
    yield chunk
  }
}

/**
 * Null if the store does not announce it. Throws if it exceeds our limit or the body is encoded. Some stores still
 * announce `aws-chunked`, the encoding of the upload.
 */
function readLength({ headers }: Response, key: string): number | null {
  const announced = headers.get('content-length')
  const isPlain = /^(identity|aws-chunked|)$/.test(headers.get('content-encoding') ?? '')
  if (Number(announced) <= MAX_FILE_BYTES && isPlain)
    return announced === null ? null : Number(announced)
  throw new StoreError(`S3 returned an unexpected object for ${key}`, false)
}

/** Stops when more than `limit` bytes arrive. */
async function* limitChunks({ body }: Response, limit: number, { onProgress }: Watch) {
  let size = 0
  try {
    for await (const chunk of body ?? []) {
      onProgress()
      size += chunk.byteLength
      if (size > limit) throw new StoreError(`more than ${limit} bytes arrived`, false)
      yield chunk
    }
  } catch (error) {
    if (error instanceof StoreError) throw error
    throwStoreError(error)
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

async function computeMd5(file: Blob): Promise<Buffer> {
  const hasher = new Bun.CryptoHasher('md5')
  for await (const chunk of file.stream()) hasher.update(chunk)
  return hasher.digest()
}

function readEtag({ headers }: Response): string | undefined {
  return headers
    .get('etag')
    ?.replace(/^W\/|"/g, '')
    .toLowerCase()
}

function isEncrypted({ headers }: Response): boolean {
  return [...headers].some(([name, value]) => /^x-(amz|goog)-.*kms/.test(`${name} ${value}`))
}
