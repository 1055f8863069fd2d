import type { Server } from 'bun'
import { Elysia } from 'elysia'
import { sha256 } from '../../lib/crypto/hash.ts'
import { AppError } from '../../lib/errors.ts'
import { createLineWriter, type Log } from '../../lib/log/log.ts'
import {
  IDLE_TIMEOUT_SECONDS,
  readContentLength,
  UPLOAD_TIMEOUT_SECONDS,
} from '../http/body/body.ts'
import { setOpenedRequest } from '../http/body/opened-request.ts'
import { failureBody, internalError, malformed } from '../http/replies/errors.ts'
import type { FindIp } from '../http/request/client-address.ts'
import { optionalHeader } from '../http/request/request-headers.ts'
import { requestInfo } from '../http/request/request-log.ts'
import { readPath } from '../http/request/request-url.ts'
import { createFailureLimit } from '../limits/failure-limit.ts'
import { sealReply } from './message.ts'
import { createOpener, isJose, type OpenerDeps } from './opener.ts'

/** `isRequired`: whether plain requests are refused. */
type EncryptionDeps = OpenerDeps & {
  isRequired: boolean
  hasLimits: boolean
  /** Paths of features that always accept plain requests. */
  plainPaths: string[]
  findIp: FindIp
  log: Log
}

type Handle = (request: Request) => Response | Promise<Response>

const ENV_VALUES =
  'For plain JSON, send test or omit the header; any other value means a sealed request.'
const PLAIN_WORD = /^[\w-]{1,32}$/
/** Paths that always accept plain requests: those without secrets, and the server API. Features declare more. */
const OPEN_PATHS =
  /^\/(|health|ready|metrics|docs(\/.*)?|client(-[^/]+)?\.tgz|console(\/.*)?|api\/server\/.*|\.well-known\/.*)$/
/** Never sealed: files are large, and their URL is all that is needed to read them. */
const FILES = /^\/files\//
/** Collecting garbage is worthwhile after a request with a larger body. */
const GC_THRESHOLD_BYTES = 1024 * 1024
/** How many sealed requests per IP address may fail in ten minutes: each one leaves a row behind. */
const MAX_FAILURES = 3_000

/** Opens requests before routing and seals responses. A request refused before its route gets a plain response. */
export function encryption(deps: EncryptionDeps) {
  const { isRequired, plainPaths, findIp, log, now } = deps
  const { isUpload, admitUpload, open } = createOpener(deps)
  const failures = createFailureLimit({ ...deps, max: MAX_FAILURES })
  const refusals = new WeakMap<Request, unknown>()
  /** Records that a message is new: must succeed before a route changes anything. */
  const claims = new WeakMap<Request, () => Promise<void>>()
  const logMessage = createLineWriter(log)
  let server: Server<unknown> | null = null
  return (
    new Elysia({ name: 'encryption' })
      .onStart((app) => {
        server = app.server
      })
      .onRequest(function refuse({ request }) {
        if (refusals.has(request)) throw refusals.get(request)
      })
      // Requests without a route never get here.
      .onTransform({ as: 'global' }, async function claim({ request }) {
        await claims.get(request)?.()
      })
      .wrap((next, request) => {
        const handle = next as unknown as Handle
        const env = optionalHeader(request.headers, 'env') ?? 'test'
        if (env === 'test')
          return isRequired && !allowsPlain(request) ? refused(encryptionRequired()) : handle
        if (!PLAIN_WORD.test(env))
          return refused(malformed(`The env header must be a single word. ${ENV_VALUES}`))
        if (FILES.test(readPath(request))) return handle
        const looksSealed = request.headers.has('payload') || isJose(request)
        if (looksSealed) return () => exchange(handle, request)
        return allowsPlain(request) ? handle : refused(notSealed(env))

        function refused(failure: AppError): Handle {
          refusals.set(request, failure)
          return handle
        }
      })
  )

  async function exchange(handle: Handle, request: Request): Promise<Response> {
    using held = new DisposableStack()
    const arrivedAt = now()
    const isLarge = isUpload(request)
    let message: Awaited<ReturnType<typeof open>>
    try {
      if (isLarge) {
        // The body has its own time limit, based on its size.
        server?.timeout(request, 0)
        held.use(await admitUpload(request, findIp(request, server)))
        // A large request leaves six times its size as garbage, even if refused, which the engine is slow to collect.
        if ((readContentLength(request) ?? 0) > GC_THRESHOLD_BYTES) held.defer(() => Bun.gc(false))
      }
      message = await open(request, arrivedAt)
      if (isLarge) server?.timeout(request, UPLOAD_TIMEOUT_SECONDS)
    } catch (error) {
      refusals.set(request, error)
      // Do not wait for the rest of a refused upload.
      if (isLarge) server?.timeout(request, 1)
      const reply = await handle(request)
      logRefusal(request)
      return reply
    }
    const { opened, claim } = message
    const { head, kid } = opened
    setOpenedRequest(request, { ...opened, token: head.at })
    if (claim) claims.set(request, () => claimOnce(request, claim))
    const plain = await answer(handle, request)
    if (isLarge) server?.timeout(request, IDLE_TIMEOUT_SECONDS)
    if (refusals.has(request)) {
      logRefusal(request)
      return plain
    }
    if (plain.status < 400) failures.release(request)
    const { status, headers } = plain
    if (headers.get('content-type')?.startsWith('text/event-stream')) {
      logExchange(request, { result: 'ok', kid, message: sha256(head.jti) })
      return plain
    }
    const reply = { status, body: await plain.bytes(), contentType: headers.get('content-type') }
    const sealed = request.method === 'HEAD' ? null : await sealReply(head, reply, now())
    const sizes = { bytesIn: opened.body.byteLength, bytesOut: reply.body.byteLength }
    logExchange(request, { result: 'ok', kid, message: sha256(head.jti), ...sizes })
    return new Response(sealed, { status, headers: sealed ? sealedHeaders(headers) : headers })
  }

  /** The response to a failed claim is plain, because the request is not executed. */
  async function claimOnce(request: Request, claim: () => Promise<void>) {
    try {
      failures.countFailure(request, findIp(request, server))
      await claim()
    } catch (error) {
      refusals.set(request, error)
      throw error
    }
  }

  function logRefusal(request: Request) {
    const error = refusals.get(request)
    logExchange(request, { result: error instanceof AppError ? error.code : 'failed' })
  }

  function allowsPlain(request: Request): boolean {
    const path = readPath(request)
    return OPEN_PATHS.test(path) || FILES.test(path) || plainPaths.includes(path)
  }

  /** Bun itself would send a plain response for an error that no hook handles. */
  async function answer(handle: Handle, request: Request): Promise<Response> {
    try {
      return await handle(request)
    } catch (err) {
      const { id } = requestInfo(request)
      log.error({ requestId: id, err }, 'request failed')
      const headers = { 'content-language': 'en' }
      return Response.json(failureBody(internalError(), id), { status: 500, headers })
    }
  }

  /** Logs neither the content nor the id of the message. */
  function logExchange(request: Request, fields: Record<string, string | number>) {
    logMessage('info', { requestId: requestInfo(request).id, ...fields })
  }
}

function sealedHeaders(plain: Headers): Headers {
  const headers = new Headers(plain)
  headers.set('content-type', 'application/jose')
  headers.set('cache-control', 'no-store')
  for (const name of ['content-length', 'etag', 'vary']) headers.delete(name)
  return headers
}

function notSealed(env: string): AppError {
  const sentence = `The env header is ${env}, but the request is not sealed. ${ENV_VALUES}`
  return new AppError('encryption_invalid', sentence)
}

function encryptionRequired(): AppError {
  const sentence =
    'This server accepts only sealed requests: set the env header and seal the payload.'
  return new AppError('encryption_required', sentence)
}
