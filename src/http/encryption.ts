import type { Server } from 'bun'
import { Elysia } from 'elysia'
import { sha256 } from '../lib/crypto.ts'
import { AppError } from '../lib/errors.ts'
import { type Log, plainLines } from '../lib/log.ts'
import { announcedLength } from './body.ts'
import type { AddressOf } from './client-address.ts'
import { failureBody, internalError, malformed } from './errors.ts'
import { noteOpened } from './opened-request.ts'
import { seenRequest } from './request-id.ts'
import { pathOf } from './request-url.ts'
import { type OpenedRequest, type RequestHead, sealReply } from './sealed-message.ts'
import { createOpener, isJose, type OpenerDeps } from './sealed-request.ts'

/** `isRequired`: plain requests are refused. */
export type EncryptionDeps = OpenerDeps & { isRequired: boolean; addressOf: AddressOf; log: Log }

type Handle = (request: Request) => Response | Promise<Response>

const PLAIN_WORD = /^[\w-]{1,32}$/
/** May come plain in any case: what holds nothing secret, the provider's webhook, what a browser opens. */
const OPEN_PATHS =
  /^\/(health|ready|metrics|docs(\/.*)?|\.well-known\/.*|files\/.*|api\/webhooks\/.*|auth\/(verify|reset)|account\/delete)$/
/** Seconds that Bun waits on a slow phone. */
const UPLOAD_TIMEOUT = 255

/**
 * Opens sealed requests before their routes see them and seals what the routes answer: a route gets an
 * ordinary request. What stops a request before its route is answered in plain.
 */
export function encryption({ isRequired, addressOf, log, ...deps }: EncryptionDeps) {
  const { now } = deps
  const { isUpload, admitUpload, open } = createOpener(deps)
  const refusals = new WeakMap<Request, unknown>()
  const logMessage = plainLines(log)
  let server: Server<unknown> | null = null
  return new Elysia({ name: 'encryption' })
    .onStart((app) => {
      server = app.server
    })
    .onRequest(({ request }) => {
      if (refusals.has(request)) throw refusals.get(request)
    })
    .wrap((next, request) => {
      const handle = next as unknown as Handle
      const env = request.headers.get('env') ?? 'test'
      if (env === 'test') return isRequired && !isOpen(request) ? refused(required()) : handle
      if (!PLAIN_WORD.test(env)) return refused(malformed('The header env must be one plain word.'))
      const isSealed = request.headers.has('payload') || isJose(request)
      return isSealed || !isOpen(request) ? () => exchange(handle, request) : handle

      function refused(failure: AppError): Handle {
        refusals.set(request, failure)
        return handle
      }
    })

  async function exchange(handle: Handle, request: Request): Promise<Response> {
    using held = new DisposableStack()
    const bytesIn = announcedLength(request) ?? 0
    let opened: OpenedRequest
    try {
      if (isUpload(request)) {
        server?.timeout(request, UPLOAD_TIMEOUT)
        held.use(admitUpload(request, addressOf(request, server)))
      }
      opened = await open(request)
    } catch (error) {
      refusals.set(request, error)
      const reply = await handle(request)
      note(request, { result: error instanceof AppError ? error.code : 'failed' })
      return reply
    }
    const { body, contentType, head } = opened
    noteOpened(request, { body, contentType, token: head.at })
    const plain = await answer(handle, request)
    const reply = request.method === 'HEAD' ? plain : await sealed(plain, head)
    const message = sha256(head.jti)
    note(request, { result: 'ok', kid: opened.kid, message, bytesIn, status: reply.status })
    return reply
  }

  /** What was thrown past every hook would be answered by the server itself, in plain. */
  async function answer(handle: Handle, request: Request): Promise<Response> {
    try {
      return await handle(request)
    } catch (err) {
      const { id } = seenRequest(request)
      log.error({ requestId: id, err }, 'request failed')
      return Response.json(failureBody(internalError(), id), { status: 500 })
    }
  }

  async function sealed(reply: Response, head: RequestHead): Promise<Response> {
    const { status, headers } = reply
    const body = await reply.bytes()
    const contentType = headers.get('content-type')
    const message = await sealReply(head, { status, body, contentType }, now())
    headers.set('content-type', 'application/jose')
    headers.set('cache-control', 'no-store')
    for (const name of ['content-length', 'etag', 'vary']) headers.delete(name)
    return new Response(message, { status, headers })
  }

  /** A line about a message: nothing of its content, not even its id. */
  function note(request: Request, fields: Record<string, string | number>) {
    logMessage({ requestId: seenRequest(request).id, ...fields })
  }
}

function isOpen(request: Request): boolean {
  return OPEN_PATHS.test(pathOf(request))
}

function required(): AppError {
  const sentence =
    'This server takes sealed requests only: set the header env and seal the payload.'
  return new AppError('encryption_required', sentence)
}
