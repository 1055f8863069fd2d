import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { parseRange } from '../../src/features/attachments/storage/serve.ts'
import { createMultipartUploads } from './s3-multipart.ts'
import { refusalOf } from './s3-signature.ts'

type S3Options = { bucket: string; accessKeyId: string; secretAccessKey: string; region?: string }
type Stored = { bytes: Buffer; lastModified: Date; etag?: string }

const PAGE = 100

/** Faults to inject. The first four count affected requests; the others apply while set. */
const NO_FAULTS = {
  /** Requests that get 500. */
  failing: 0,
  /** Requests that get 503 SlowDown. */
  slowDown: 0,
  /** Bodies that are cut off, in either direction. */
  cut: 0,
  /** Uploads with a byte changed in transit. */
  corrupt: 0,
  /** Requests are never answered. */
  hangs: false,
  /** A download waits for this promise after each piece. */
  held: null as null | Promise<void>,
  /** How far the store's clock is ahead, in ms. */
  ahead: 0,
  /** Pause between the pieces of a body in either direction, in ms. */
  pause: 0,
  /** Number of pieces in which a body is sent. */
  pieces: 8,
  /** Uploads get 403 with this code. */
  refuses: null as null | string,
  /** Uploads get 200 but are not stored. */
  forgets: false,
  /** The completion of a multipart upload reports an error, stores nothing, or loses its response. */
  completion: null as null | 'fails' | 'forgets' | 'cut',
  /** The ETag of objects in a bucket that encrypts with KMS. */
  kms: null as null | string,
  /** Sends downloads without their length, and as if uploaded in chunks. */
  isChunked: false,
  /** Keys that begin with this cannot be deleted, as with an object lock. */
  locked: null as null | string,
  /** Sends endless responses with this status and these headers. */
  endless: null as null | { status: number; headers: Record<string, string> },
}
/** A client that reads more than this has no limit. */
const ENDLESS_BYTES = 256 * 1024 * 1024

/**
 * An in-memory S3 store on loopback with path-style URLs, which checks signatures. It uses node:http,
 * because a response from `Bun.serve` cannot declare a larger Content-Length than it sends.
 */
export async function startS3({ region = 'us-east-1', ...account }: S3Options) {
  const objects = new Map<string, Stored>()
  const faults = { ...NO_FAULTS }
  const endlessBytes = { sent: 0 }
  const requests = { PUT: 0, GET: 0, HEAD: 0, DELETE: 0, LIST: 0, POST: 0 }
  const multipart = createMultipartUploads()
  const { uploads } = multipart
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy())
  })
  const { promise: listening, resolve } = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', resolve)
  await listening
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    objects,
    uploads,
    stored,
    faults,
    endlessBytes,
    requests,
    stop,
    [Symbol.asyncDispose]: stop,
  }

  /** The sorted keys of all objects except those that name the store's users. */
  function stored(): string[] {
    return [...objects.keys()]
      .filter((key) => !/(homeport-\w+\.json|\/probe)$/.test(key))
      .toSorted()
  }

  async function stop() {
    server.closeAllConnections()
    server.close()
  }

  async function answer(request: IncomingMessage, response: ServerResponse) {
    const { pathname, searchParams } = new URL(request.url ?? '/', url)
    const [bucket, ...rest] = decodeURIComponent(pathname).slice(1).split('/')
    const key = rest.join('/')
    const method = request.method === 'GET' && key === '' ? 'LIST' : request.method
    requests[method as keyof typeof requests]++
    if (faults.hangs) return
    if (faults.endless) return sendEndlessly(response, faults.endless)
    if (consumeFault('failing')) return refuse(response, 500, 'InternalError')
    if (consumeFault('slowDown')) return refuse(response, 503, 'SlowDown')
    const refusal = refusalOf(request, { region, ...account }, Date.now() + faults.ahead)
    if (refusal) return refuse(response, 403, refusal)
    if (bucket !== account.bucket) return refuse(response, 404, 'NoSuchBucket')
    if (method === 'LIST') {
      const listsUploads = searchParams.has('uploads')
      const prefix = searchParams.get('prefix') ?? ''
      return reply(response, 200, listsUploads ? multipart.list(prefix) : list(searchParams))
    }
    const uploadId = searchParams.get('uploadId')
    if (method === 'PUT') return put(request, response, key, searchParams)
    if (method === 'POST') return post(request, response, key, uploadId)
    const isLocked = faults.locked !== null && key.startsWith(faults.locked)
    if (method === 'DELETE' && isLocked) return refuse(response, 403, 'AccessDenied')
    if (method === 'DELETE' && uploadId) return reply(response, 204, void uploads.delete(uploadId))
    if (method === 'DELETE') return reply(response, 204, void objects.delete(key))
    const found = objects.get(key)
    if (!found) return refuse(response, 404, 'NoSuchKey')
    if (method === 'GET') return get(request, response, found)
    return reply(response, 200, undefined, {
      'content-length': found.bytes.length,
      'last-modified': found.lastModified.toUTCString(),
      etag: `"${found.etag ?? faults.kms ?? md5Of(found.bytes)}"`,
    })
  }

  /** Begins or completes a multipart upload. */
  async function post(
    request: IncomingMessage,
    response: ServerResponse,
    key: string,
    uploadId: string | null,
  ) {
    if (faults.refuses) return refuse(response, 403, faults.refuses)
    if (uploadId === null) return reply(response, 200, multipart.begin(key))
    const body = Buffer.concat(await Array.fromAsync(request)).toString()
    if (faults.completion === 'fails')
      return reply(response, 200, '<Error><Code>InternalError</Code></Error>')
    const object = multipart.complete(uploadId, body, faults.kms)
    if (object === null) return refuse(response, 400, 'InvalidPart')
    if (faults.completion !== 'forgets') objects.set(key, { ...object, lastModified: new Date() })
    if (faults.completion === 'cut') return void request.socket.destroy()
    const etag = faults.completion === 'forgets' ? 'other' : object.etag
    const result = `<ETag>&quot;${etag}&quot;</ETag>`
    return reply(
      response,
      200,
      `<CompleteMultipartUploadResult>${result}</CompleteMultipartUploadResult>`,
    )
  }

  async function put(
    request: IncomingMessage,
    response: ServerResponse,
    key: string,
    query: URLSearchParams,
  ) {
    const { 'content-length': announced, 'content-md5': md5 } = request.headers
    if (announced === undefined) return refuse(response, 411, 'MissingContentLength')
    const chunks: Buffer[] = []
    if (consumeFault('cut')) return void request.socket.destroy()
    for await (const chunk of request) {
      chunks.push(chunk)
      if (faults.pause > 0) await Bun.sleep(faults.pause)
    }
    const bytes = Buffer.concat(chunks)
    if (consumeFault('corrupt') && bytes.length > 0) bytes.writeUInt8(bytes.readUInt8(0) ^ 1, 0)
    if (bytes.length !== Number(announced)) return refuse(response, 400, 'IncompleteBody')
    const hash = createHash('md5').update(bytes).digest('base64')
    if (md5 !== undefined && md5 !== hash) return refuse(response, 400, 'BadDigest')
    if (faults.refuses) return refuse(response, 403, faults.refuses)
    if (faults.forgets) return reply(response, 200)
    const upload = uploads.get(query.get('uploadId') ?? '')
    if (query.has('uploadId') && !upload) return refuse(response, 404, 'NoSuchUpload')
    if (upload) upload.parts.set(Number(query.get('partNumber')), bytes)
    else objects.set(key, { bytes, lastModified: new Date() })
    const etag = faults.kms ?? md5Of(bytes)
    const encryption = faults.kms && { 'x-amz-server-side-encryption': 'aws:kms' }
    return reply(response, 200, undefined, { etag: `"${etag}"`, ...encryption })
  }

  async function get(request: IncomingMessage, response: ServerResponse, found: Stored) {
    const { bytes, lastModified } = found
    const range = parseRange(request.headers.range ?? null, bytes.length)
    if (range === 'unsatisfiable') return refuse(response, 416, 'InvalidRange')
    const body = range ? bytes.subarray(range.first, range.last + 1) : bytes
    const isCut = consumeFault('cut')
    const sent = isCut ? body.subarray(0, Math.floor(body.length / 2)) : body
    response.writeHead(range ? 206 : 200, {
      ...(faults.isChunked
        ? { 'content-encoding': 'aws-chunked' }
        : { 'content-length': body.length }),
      'last-modified': lastModified.toUTCString(),
      ...(range && { 'content-range': `bytes ${range.first}-${range.last}/${bytes.length}` }),
    })
    const piece = Math.max(1, Math.ceil(sent.length / faults.pieces))
    for (let at = 0; at < sent.length; at += piece) {
      response.write(sent.subarray(at, at + piece))
      await Bun.sleep(faults.pause)
      await faults.held
    }
    if (isCut) response.destroy()
    else response.end()
  }

  async function sendEndlessly(
    response: ServerResponse,
    { status, headers }: { status: number; headers: Record<string, string> },
  ) {
    const chunk = Buffer.alloc(1024 * 1024, 120)
    response.writeHead(status, headers)
    for (let sent = 0; sent < ENDLESS_BYTES && !response.destroyed; sent += chunk.length) {
      endlessBytes.sent += chunk.length
      const canContinue = response.write(chunk)
      if (!canContinue) await Promise.race([once(response, 'drain'), once(response, 'close')])
    }
    response.destroy()
  }

  function list(query: URLSearchParams): string {
    const prefix = query.get('prefix') ?? ''
    const after = Buffer.from(query.get('continuation-token') ?? '', 'base64').toString()
    const limit = Math.min(PAGE, Number(query.get('max-keys') ?? PAGE))
    const delimiter = query.get('delimiter')
    const names = [...objects.keys()]
      .filter((key) => key.startsWith(prefix))
      .map((key) => {
        const end = delimiter ? key.indexOf(delimiter, prefix.length) : -1
        return end === -1 ? key : key.slice(0, end + 1)
      })
    const keys = [...new Set(names)].filter((key) => after === '' || key > after).toSorted()
    const page = keys.slice(0, limit)
    const isTruncated = keys.length > page.length
    const token = Buffer.from(page.at(-1) ?? '').toString('base64')
    return `<?xml version="1.0" encoding="UTF-8"?><ListBucketResult><Name>${account.bucket}</Name><Prefix>${escapeXml(prefix)}</Prefix><KeyCount>${page.length}</KeyCount><MaxKeys>${limit}</MaxKeys><IsTruncated>${isTruncated}</IsTruncated>${
      isTruncated ? `<NextContinuationToken>${token}</NextContinuationToken>` : ''
    }${page.map(entryOf).join('')}</ListBucketResult>`
  }

  /** A name without an object is a folder. */
  function entryOf(key: string): string {
    const found = objects.get(key)
    if (!found) return `<CommonPrefixes><Prefix>${escapeXml(key)}</Prefix></CommonPrefixes>`
    const { bytes, lastModified } = found
    return `<Contents><Key>${escapeXml(key)}</Key><LastModified>${lastModified.toISOString()}</LastModified><Size>${bytes.length}</Size></Contents>`
  }

  function consumeFault(fault: 'failing' | 'slowDown' | 'cut' | 'corrupt'): boolean {
    if (faults[fault] === 0) return false
    faults[fault]--
    return true
  }
}

type Headers = Record<string, string | number>

function reply(response: ServerResponse, status: number, body?: string, headers: Headers = {}) {
  response.writeHead(status, {
    ...(status === 204 ? {} : { 'content-length': Buffer.byteLength(body ?? '') }),
    ...headers,
  })
  response.end(body)
}

function refuse(response: ServerResponse, status: number, code: string) {
  const body = `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>Injected error ${code}.</Message></Error>`
  reply(response, status, response.req.method === 'HEAD' ? undefined : body)
}

function md5Of(bytes: Buffer): string {
  return createHash('md5').update(bytes).digest('hex')
}

function escapeXml(text: string): string {
  return text.replace(/[&<>]/g, (char) => `&#${char.charCodeAt(0)};`)
}
