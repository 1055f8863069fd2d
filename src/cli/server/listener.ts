import type { AnyElysia } from 'elysia'
import type { Config } from '../../config/config.ts'
import { CommandError } from '../../lib/command.ts'
import type { Log } from '../../lib/log/log.ts'
import { openConnections } from '../../lib/net/sockets.ts'
import { IDLE_TIMEOUT_SECONDS } from '../../platform/http/body/body.ts'
import { failureBody, internalError } from '../../platform/http/replies/errors.ts'
import { createApp, createConsoleApp, createRestartingApp } from '../../server/app.ts'
import type { Services } from '../../server/services.ts'
import { createForward, serveForwarded, type Target } from '../service/forwarding.ts'
import type { Certificate } from '../tls/certificate.ts'
import { guardConnections } from './connection-guard.ts'
import { listenForProxy, requireUnusedSocket } from './proxy-socket.ts'
import {
  createServingSocket,
  drain,
  drainReplies,
  type ServingSocket,
  TIMER_STEP_SECONDS,
} from './serving-socket.ts'

type App = ReturnType<typeof createApp>

/** Above all our own limits, so that we, not Bun, refuse a body that is too large. */
const MAX_BODY_BYTES = 128 * 1024 * 1024
/** The runtime's maximum. */
const MAX_IDLE_SECONDS = 255

/** How long requests in flight may take before a hand-over, and how long cutting them off may take. */
const FINISH_TIMEOUT_MS = 10_000
const CUT_TIMEOUT_MS = 6_000
const POLL_MS = 5
const LINGER_POLL_MS = 250

/**
 * New sockets share the port with earlier ones, which then retire: replacing a certificate or the process loses no
 * request (docs/decisions/0011).
 */
export function createListener(config: Config, log: Log) {
  const { port, host, socketPath, keepAliveSeconds } = config
  const sockets = new Set<ServingSocket>()
  const { promise: firstApp, resolve: resolveFirstApp } = Promise.withResolvers<App>()
  const handlers = new Map<Target, (request: Request) => Response | Promise<Response>>()
  guardConnections({
    ports,
    setAccepting: (isAccepting) => {
      for (const socket of sockets) socket.setAccepting(isAccepting)
    },
    trustedProxies: config.trustedProxies,
    log,
  })
  let refuse: (request: Request) => Response | Promise<Response>
  let forwarded: Awaited<ReturnType<typeof serveForwarded>> | null = null
  return { probe, hold, open, acceptForwarded, stop, handOver, linger }

  /** Throws `CommandError` when `open` would fail, or would share the port with another program. */
  async function probe() {
    if (socketPath !== null) return requireUnusedSocket(socketPath)
    const plain = { hostname: host, fetch: () => new Response() }
    tryToListen(() => Bun.serve({ ...plain, port }).stop(true), { host, port, name: MAIN_PORT })
    const { consolePort } = config
    if (!config.console || consolePort === null) return
    const place = { host, port: consolePort, name: CONSOLE_PORT }
    tryToListen(() => Bun.serve({ ...plain, port: consolePort }).stop(true), place)
  }

  /** Accepts requests, but does not answer them until `open`. */
  function hold(certificate: Certificate | null) {
    const socket = addSocket('app')
    const fetch = (request: Request, server: Bun.Server<unknown>) => {
      server.timeout(request, MAX_IDLE_SECONDS)
      return socket.answer(async () => (await firstApp).fetch(request), request)
    }
    listenOn(optionsWith(certificate), MAIN_PORT, (options) =>
      socket.open(() => Bun.serve({ ...options, fetch })),
    )
  }

  /** Answers requests, over TLS with a `certificate`. Throws `CommandError` when it cannot listen. */
  function open(services: Services, certificate: Certificate | null): Bun.Server<unknown> {
    const before = [...sockets]
    const app = createApp(services)
    refuse = createRestartingApp(services).fetch
    const server = serve('app', app, optionsWith(certificate), MAIN_PORT)
    if (config.console && config.consolePort !== null) {
      const options = { ...optionsWith(certificate), port: config.consolePort }
      serve('console', createConsoleApp(services), options, CONSOLE_PORT)
    }
    resolveFirstApp(app)
    for (const socket of before) socket.retire(() => sockets.delete(socket))
    return server
  }

  function serve(target: Target, app: AnyElysia, options: Options, name: string) {
    const socket = addSocket(target)
    app.wrap((next) => (request: Request) => socket.answer(next as never, request))
    const server = listenOn(options, name, (all) =>
      socket.open(() => app.listen(all).server as Bun.Server<unknown>),
    )
    handlers.set(target, (request) => app.fetch(request))
    return server
  }

  function listenOn<T>(options: Options, name: string, listen: (options: Options) => T): T {
    return socketPath === null
      ? tryToListen(() => listen(options), { host, port: options.port, name })
      : listenForProxy(socketPath, (unix) => listen({ ...options, unix } as never))
  }

  function addSocket(target: Target): ServingSocket {
    const socket = createServingSocket(target, keepAliveSeconds, socketPath !== null)
    sockets.add(socket)
    return socket
  }

  /** Answers requests forwarded by earlier processes, once the data is open. */
  async function acceptForwarded() {
    forwarded = await serveForwarded(config, MAX_BODY_BYTES, async (target, request) => {
      await firstApp
      const handle = handlers.get(target)
      return handle ? handle(request) : new Response(null, { status: 404 })
    })
  }

  type Options = ReturnType<typeof optionsWith>
  function optionsWith(certificate: Certificate | null) {
    const place = socketPath === null ? { hostname: host, reusePort: true } : {}
    return {
      ...place,
      port,
      ...(certificate ? { tls: { cert: certificate.cert, key: certificate.key } } : {}),
      maxRequestBodySize: MAX_BODY_BYTES,
      idleTimeout: IDLE_TIMEOUT_SECONDS,
      // Called only for a thrown value that is not an `Error`: the hooks handle everything else.
      error(error: Error) {
        log.error({ err: error }, 'request failed')
        return Response.json(failureBody(internalError(), crypto.randomUUID()), { status: 500 })
      },
    }
  }

  /** Lets requests in flight finish, or cuts them off when `secondSignal` resolves. */
  async function stop(secondSignal: Promise<unknown>) {
    await forwarded?.stop()
    await Promise.all([...sockets].map((socket) => drain(socket.server(), secondSignal, log)))
  }

  /** Forwards new requests. Returns once no request here needs the data, or `stopped` resolves. */
  async function handOver(stopped: Promise<unknown>) {
    const forward = createForward(config, refuse)
    let isStopped = false
    void stopped.then(() => {
      isStopped = true
    })
    const forwardedStops = forwarded?.stop()
    for (const socket of sockets) socket.forwardTo(forward)
    const isDone = () => isStopped || [...sockets].every((socket) => socket.inFlight() <= 0)
    await waitUntil(isDone, FINISH_TIMEOUT_MS)
    if (!isDone()) {
      log.warn('requests in flight were cut off')
      for (const socket of sockets) socket.cut()
      await waitUntil(isDone, CUT_TIMEOUT_MS)
    }
    await Promise.race([forwardedStops, Bun.sleep(CUT_TIMEOUT_MS)])
    await drainReplies()
  }

  function ports(): number[] {
    return [...sockets].map((socket) => socket.server()?.port ?? 0)
  }

  /** Forwards requests until the last connection has ended, or `stopped` resolves. */
  async function linger(stopped: Promise<unknown>) {
    Bun.gc(true)
    let isStopped = false
    void stopped.then(() => {
      isStopped = true
    })
    // Connections of a Unix socket cannot be counted.
    const isUnused = () => socketPath === null && (openConnections(ports())?.length ?? 0) === 0
    const isDone = () => isStopped || isUnused()
    await Bun.sleep(LINGER_POLL_MS)
    await waitUntil(isDone, (keepAliveSeconds + TIMER_STEP_SECONDS) * 1000, LINGER_POLL_MS)
    await Promise.all([...sockets].map((socket) => socket.stop()))
  }
}

async function waitUntil(isDone: () => boolean, limit: number, poll = POLL_MS) {
  const start = performance.now()
  while (!isDone() && performance.now() - start < limit) await Bun.sleep(poll)
}

const MAIN_PORT = 'PORT or --port'
const CONSOLE_PORT = 'CONSOLE_PORT'

type Place = {
  host: string
  port: number
  name: string
}

/** Throws `CommandError` when `listen` cannot listen. */
export function tryToListen<T>(listen: () => T, place: Place): T {
  try {
    return listen()
  } catch (error) {
    const reason = describeListenError((error as { code?: string }).code, place)
    throw new CommandError(reason, { cause: error })
  }
}

function describeListenError(code: string | undefined, { host, port, name }: Place): string {
  if (code === 'EADDRINUSE') return `Port ${port} is in use: choose another one with ${name}.`
  if (code === 'EACCES') {
    return `This user may not listen on port ${port}: choose one above 1023 with ${name}, or give the service the capability CAP_NET_BIND_SERVICE.`
  }
  return `HOST ${host} is not an address of this machine (${code}): use 127.0.0.1, or unset HOST to listen on all.`
}
