import { yieldToEventLoop } from '../../lib/concurrency/yield-to-event-loop.ts'
import type { Log } from '../../lib/log/log.ts'
import { captureListening, type ListeningSocket, sendRaw } from '../../lib/net/sockets.ts'
import { hasUnreadBody } from '../../platform/http/body/body.ts'
import { awaitBody, keepConnection } from '../../platform/http/body/connection-time.ts'
import { replyAfterBody } from '../../platform/http/body/unread-body.ts'
import type { Forward, Target } from '../service/forwarding.ts'

type Server = Bun.Server<unknown>
type Handle = (request: Request) => Response | Promise<Response>
export type ServingSocket = ReturnType<typeof createServingSocket>

/** How long a socket keeps accepting connections after the next one has started listening. */
const OVERLAP_MS = 100
const CONTINUE = '100-continue'
/** The runtime checks timeouts every four seconds; one second is a margin. */
export const TIMER_STEP_SECONDS = 5

/** `keepAlive`: idle timeout in seconds. `isReplaced`: the next process takes the path, and no port is shared. */
export function createServingSocket(target: Target, keepAlive: number, isReplaced = false) {
  let server: Server | null = null
  let listening: ListeningSocket | null = null
  let forward: Forward | null = null
  let isRetired = false
  let forwarding = 0
  /** The number of refused requests whose unread body is being discarded. */
  let discarding = 0
  const pending = new Set<Request>()
  return {
    open,
    answer,
    retire,
    forwardTo,
    inFlight,
    cut,
    stop,
    setAccepting,
    server: () => server as Server,
  }

  function open(listen: () => Server): Server {
    ;[server, listening] = captureListening(listen)
    return server
  }

  function answer(handle: Handle, request: Request): Response | Promise<Response> {
    awaitBody(request, server)
    if (!sendContinue(request)) return new Response(null, { status: 417 })
    return request.headers.has('transfer-encoding')
      ? answerChunked(handle, request)
      : answerWhole(handle, request)
  }

  /**
   * The runtime handles only the spelling `100-continue`, but case does not matter (RFC 9110 §10.1.1). False over TLS:
   * the client then sends the body anyway.
   */
  function sendContinue(request: Request): boolean {
    const expected = request.headers.get('expect')
    if (expected === null || expected === CONTINUE || expected.toLowerCase() !== CONTINUE)
      return true
    if (request.url.startsWith('https:') || server === null) return false
    return sendRaw('HTTP/1.1 100 Continue\r\n\r\n', server.port ?? 0, server.requestIP(request))
  }

  /**
   * The parser mistakes a trailer for another request and refuses it. Parsing what has arrived first, and then closing
   * the connection, makes ours the only response.
   */
  async function answerChunked(handle: Handle, request: Request): Promise<Response> {
    const { signal } = request
    await yieldToEventLoop()
    if (signal.aborted) return new Response(null, { status: 400 })
    const reply = await answerWhole(handle, request)
    await yieldToEventLoop()
    reply.headers.set('connection', 'close')
    return reply
  }

  /** Most requests are answered synchronously: only the others cost a promise. */
  function answerWhole(handle: Handle, request: Request): Response | Promise<Response> {
    const reply = forward === null ? runHandler(handle, request) : forwardRequest(forward, request)
    return reply instanceof Promise
      ? reply.then((later) => finish(request, later))
      : finish(request, reply)
  }

  function finish(request: Request, reply: Response): Response | Promise<Response> {
    if (!hasUnreadBody(request)) return setConnection(request, reply)
    discarding++
    const onEnd = () => void discarding--
    return replyAfterBody(request, reply, onEnd).then((later) => setConnection(request, later))
  }

  function setConnection(request: Request, reply: Response): Response {
    if (isRetired) reply.headers.set('connection', 'close')
    else keepConnection(request, server as Server, keepAlive)
    return reply
  }

  function runHandler(handle: Handle, request: Request) {
    const reply = handle(request)
    if (!(reply instanceof Promise)) return reply
    pending.add(request)
    return reply.finally(() => pending.delete(request))
  }

  async function forwardRequest(to: Forward, request: Request) {
    forwarding++
    try {
      return await to(target, request, server as Server)
    } finally {
      forwarding--
    }
  }

  /** Open connections get one more response each. Idle ones close no sooner than usual: a request may be on its way. */
  function retire(onEnd = () => {}) {
    isRetired = true
    setTimeout(() => {
      // Until its path is replaced, the socket forwards what arrives.
      if (isReplaced) return
      if (listening) listening.close()
      else void server?.stop()
    }, OVERLAP_MS)
    setTimeout(() => stop().then(onEnd), (keepAlive + TIMER_STEP_SECONDS) * 1000).unref()
  }

  /** Retires, and forwards new requests to another process. */
  function forwardTo(to: Forward) {
    forward = to
    if (!isRetired) retire()
  }

  function setAccepting(isAccepting: boolean) {
    if (!isRetired) listening?.setAccepting(isAccepting)
  }

  /** The number of requests that this process itself is answering, including responses being sent. */
  function inFlight(): number {
    return (server?.pendingRequests ?? 0) - forwarding - discarding
  }

  /** Closes the connections of unanswered requests within seconds. */
  function cut() {
    for (const request of pending) server?.timeout(request, 1)
  }

  async function stop() {
    await server?.stop(true)
  }
}

/** How long requests in flight may take after the signal to stop. */
const DRAIN_TIMEOUT_MS = 10_000
/** Leaves time for tasks after a response, such as writing its log line. */
const AFTER_REPLIES_MS = 5

/** Lets requests in flight finish. Cuts them off after `limit` ms, or when `secondSignal` resolves. */
export async function drain(
  server: Bun.Server<unknown>,
  secondSignal: Promise<unknown>,
  log: Log,
  limit = DRAIN_TIMEOUT_MS,
) {
  const graceful = server.stop().then(() => 'done')
  const timeout = Bun.sleep(limit).then(() => 'timeout')
  const outcome = await Promise.race([graceful, timeout, secondSignal.then(() => 'second signal')])
  if (outcome !== 'done') {
    log.warn({ outcome }, 'requests in flight were cut off')
    await server.stop(true)
  }
  await drainReplies()
}

export async function drainReplies() {
  await new Promise((resolve) => setTimeout(resolve, AFTER_REPLIES_MS))
}
