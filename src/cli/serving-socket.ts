import type { Log } from '../lib/log.ts'
import { captureListening, type ListeningSocket } from '../lib/sockets.ts'
import { keepConnection } from '../platform/http/connection-time.ts'
import type { Forward, Target } from './service/forwarding.ts'

type Server = Bun.Server<unknown>
type Handle = (request: Request) => Response | Promise<Response>
export type ServingSocket = ReturnType<typeof createServingSocket>

/** How long a socket still takes connections beside the one that follows, in ms. */
const OVERLAP = 100
/** The runtime looks at the time of connections every four seconds. */
export const TIMER_STEP = 5

/** A socket where requests come in. `keepAlive`: seconds for which a connection may be idle. */
export function createServingSocket(target: Target, keepAlive: number) {
  let server: Server | null = null
  let listening: ListeningSocket | null = null
  let forward: Forward | null = null
  let isRetired = false
  let forwarding = 0
  const working = new Set<Request>()
  return {
    open,
    answer,
    retire,
    passOn,
    underWay,
    cut,
    stop,
    setAccepting,
    server: () => server as Server,
  }

  function open(listen: () => Server): Server {
    ;[server, listening] = captureListening(listen)
    return server
  }

  /** Most requests are answered in the same turn of the loop: only others cost a promise. */
  function answer(handle: Handle, request: Request): Response | Promise<Response> {
    const reply = forward === null ? work(handle, request) : passedOn(forward, request)
    return reply instanceof Promise
      ? reply.then((later) => finish(request, later))
      : finish(request, reply)
  }

  function finish(request: Request, reply: Response): Response {
    if (isRetired) reply.headers.set('connection', 'close')
    else keepConnection(request, server as Server, keepAlive, reply)
    return reply
  }

  function work(handle: Handle, request: Request) {
    const reply = handle(request)
    if (!(reply instanceof Promise)) return reply
    working.add(request)
    return reply.finally(() => working.delete(request))
  }

  async function passedOn(to: Forward, request: Request) {
    forwarding++
    try {
      return await to(target, request, server as Server)
    } finally {
      forwarding--
    }
  }

  /**
   * Leaves new connections to the other sockets of the port. Those that are open get one more reply each, and idle
   * ones are closed no sooner than otherwise: what is on its way on one of them is answered.
   */
  function retire(onEnd = () => {}) {
    isRetired = true
    setTimeout(() => {
      if (listening) listening.close()
      else void server?.stop()
    }, OVERLAP)
    setTimeout(() => stop().then(onEnd), (keepAlive + TIMER_STEP) * 1000).unref()
  }

  /** Retires, and has another process answer what comes from now on. */
  function passOn(to: Forward) {
    forward = to
    if (!isRetired) retire()
  }

  /** Has new connections wait, or no longer. */
  function setAccepting(isAccepting: boolean) {
    if (!isRetired) listening?.setAccepting(isAccepting)
  }

  /** How many requests this process has to answer itself, with replies that are on their way. */
  function underWay(): number {
    return (server?.pendingRequests ?? 0) - forwarding
  }

  /** Ends the connections whose requests are not answered yet, within seconds. */
  function cut() {
    for (const request of working) server?.timeout(request, 1)
  }

  async function stop() {
    await server?.stop(true)
  }
}

/** How long requests in flight may take once we are told to stop, in ms. */
const DRAIN_TIMEOUT = 10_000
const AFTER_REPLIES = 5

/** Lets requests in flight finish; after `limit` ms, or when told again, they are cut. */
export async function drain(
  server: Bun.Server<unknown>,
  again: Promise<unknown>,
  log: Log,
  limit = DRAIN_TIMEOUT,
) {
  const graceful = server.stop().then(() => 'done')
  const timeout = Bun.sleep(limit).then(() => 'timeout')
  const outcome = await Promise.race([graceful, timeout, again.then(() => 'told again')])
  if (outcome !== 'done') {
    log.warn({ outcome }, 'requests in flight were cut off')
    await server.stop(true)
  }
  await drainReplies()
}

/** Waits for what follows a reply, such as its line in the log. */
export async function drainReplies() {
  await new Promise((resolve) => setTimeout(resolve, AFTER_REPLIES))
}
