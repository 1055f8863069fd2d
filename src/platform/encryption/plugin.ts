import type { Server } from 'bun'
import { Elysia } from 'elysia'
import { sha256 } from '../../lib/crypto.ts'
import { AppError } from '../../lib/errors.ts'
import { type Log, plainLines } from '../../lib/log.ts'
import { IDLE_TIMEOUT, UPLOAD_TIMEOUT } from '../http/body.ts'
import type { IpOf } from '../http/client-ip.ts'
import { failureBody, internalError, malformed } from '../http/errors.ts'
import { setOpenedRequest } from '../http/opened-request.ts'
import { optionalHeader } from '../http/request-headers.ts'
import { requestInfo } from '../http/request-id.ts'
import { pathOf } from '../http/request-url.ts'
import { createFailureLimit } from './failure-limit.ts'
import { sealReply } from './message.ts'
import { createOpener, isJose, type OpenerDeps } from './opener.ts'

/** `isRequired`: plain requests are refused. */
type EncryptionDeps = OpenerDeps & {
  isRequired: boolean
  /** Whether requests that fail are limited by their address. */
  hasLimits: boolean
  /** Paths of features that take plain requests in any case. */
  plainPaths: string[]
  ipOf: IpOf
  log: Log
}

type Handle = (request: Request) => Response | Promise<Response>

const ENV_VALUES =
  'For plain JSON send test or leave the header out; any other value announces a sealed request.'
const PLAIN_WORD = /^[\w-]{1,32}$/
/** May come plain in any case: what holds nothing secret. Features name further paths. */
const OPEN_PATHS = /^\/(|health|ready|metrics|docs(\/.*)?|console(\/.*)?|\.well-known\/.*)$/
/** Never sealed: they are large, and whoever has their address may have them. */
const FILES = /^\/files\//
/** Bytes of a body that is worth a look for garbage. */
const LARGE = 1024 * 1024

/**
 * Opens sealed requests before their routes see them and seals what the routes answer: a route gets an
 * ordinary request. What stops a request before its route is answered in plain.
 */
export function encryption(deps: EncryptionDeps) {
  const { isRequired, plainPaths, ipOf, log, now } = deps
  const { isUpload, admitUpload, open } = createOpener(deps)
  const failures = createFailureLimit(deps)
  const refusals = new WeakMap<Request, unknown>()
  /** What must succeed before a route changes anything. */
  const claims = new WeakMap<Request, () => Promise<void>>()
  const logMessage = plainLines(log)
  let server: Server<unknown> | null = null
  return (
    new Elysia({ name: 'encryption' })
      .onStart((app) => {
        server = app.server
      })
      .onRequest(({ request }) => {
        if (refusals.has(request)) throw refusals.get(request)
      })
      // A request that no route answers never comes here.
      .onTransform({ as: 'global' }, async ({ request }) => {
        await claims.get(request)?.()
      })
      .wrap((next, request) => {
        const handle = next as unknown as Handle
        const env = optionalHeader(request.headers, 'env') ?? 'test'
        if (env === 'test')
          return isRequired && !allowsPlain(request) ? refused(required()) : handle
        if (!PLAIN_WORD.test(env))
          return refused(malformed(`The header env must be one word. ${ENV_VALUES}`))
        if (FILES.test(pathOf(request))) return handle
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
        // While it arrives it has a time limit of its own, by its size.
        server?.timeout(request, 0)
        held.use(await admitUpload(request, ipOf(request, server)))
      }
      message = await open(request, arrivedAt)
      if (isLarge) server?.timeout(request, UPLOAD_TIMEOUT)
    } catch (error) {
      refusals.set(request, error)
      // What is still on its way to a refused upload is not waited for.
      if (isLarge) server?.timeout(request, 1)
      const reply = await handle(request)
      noteRefusal(request)
      return reply
    }
    const { opened, claim } = message
    // A large one leaves six times its size behind, and by itself the engine is slow to notice.
    if (opened.body.byteLength > LARGE) held.defer(() => Bun.gc(false))
    const { head, kid } = opened
    setOpenedRequest(request, { ...opened, token: head.at })
    if (claim) claims.set(request, () => claimOnce(request, claim))
    const plain = await answer(handle, request)
    if (isLarge) server?.timeout(request, IDLE_TIMEOUT)
    if (refusals.has(request)) {
      noteRefusal(request)
      return plain
    }
    if (plain.status < 400) failures.release(request)
    const { status, headers } = plain
    const reply = { status, body: await plain.bytes(), contentType: headers.get('content-type') }
    const sealed = request.method === 'HEAD' ? null : await sealReply(head, reply, now())
    const sizes = { bytesIn: opened.body.byteLength, bytesOut: reply.body.byteLength }
    note(request, { result: 'ok', kid, message: sha256(head.jti), ...sizes })
    return new Response(sealed, { status, headers: sealed ? sealedHeaders(headers) : headers })
  }

  /** What fails is said in plain: the request is not carried out. */
  async function claimOnce(request: Request, claim: () => Promise<void>) {
    try {
      failures.hold(request, ipOf(request, server))
      await claim()
    } catch (error) {
      refusals.set(request, error)
      throw error
    }
  }

  function noteRefusal(request: Request) {
    const error = refusals.get(request)
    note(request, { result: error instanceof AppError ? error.code : 'failed' })
  }

  function allowsPlain(request: Request): boolean {
    const path = pathOf(request)
    return OPEN_PATHS.test(path) || FILES.test(path) || plainPaths.includes(path)
  }

  /** What is thrown past every hook would be answered by the server itself, in plain. */
  async function answer(handle: Handle, request: Request): Promise<Response> {
    try {
      return await handle(request)
    } catch (err) {
      const { id } = requestInfo(request)
      log.error({ requestId: id, err }, 'request failed')
      return Response.json(failureBody(internalError(), id), { status: 500 })
    }
  }

  /** A line about a message: nothing of its content, not even its id. */
  function note(request: Request, fields: Record<string, string | number>) {
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
  const sentence = `The header env is ${env}, but the request is not sealed. ${ENV_VALUES}`
  return new AppError('encryption_invalid', sentence)
}

function required(): AppError {
  const sentence =
    'This server takes sealed requests only: set the header env and seal the payload.'
  return new AppError('encryption_required', sentence)
}
