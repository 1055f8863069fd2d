import { createApp, createConsoleApp } from '../app.ts'
import type { Config } from '../config.ts'
import { IDLE_TIMEOUT } from '../http/body.ts'
import { failureBody, internalError } from '../http/errors.ts'
import type { Log } from '../lib/log.ts'
import type { Services } from '../services.ts'
import { DataError } from './data-error.ts'
import { drain } from './drain.ts'
import type { Certificate } from './tls/certificate.ts'

type App = ReturnType<typeof createApp>

/** Above every cap of ours, so that a body that is too large gets our answer and not Bun's. */
const MAX_BODY = 128 * 1024 * 1024

/** How long an old socket stays open beside a new one, in ms. */
const OVERLAP = 100

/**
 * Where requests come in. Each socket that is opened shares the port with those before, which end with their
 * requests: so a certificate is replaced, and a process by the next one, without refusing anybody.
 */
export function createListener(config: Config, log: Log) {
  const { port, host } = config
  const servers = new Set<Bun.Server<unknown>>()
  const { promise: firstApp, resolve: serveHeld } = Promise.withResolvers<App>()
  return { probe, hold, open, stop }

  /** Throws `DataError` when `open` would, or would share the port with another program. */
  function probe() {
    listening(() => Bun.serve({ port, hostname: host, fetch: () => new Response() }).stop(true))
  }

  /** Takes requests that are answered after `open`. */
  function hold(certificate: Certificate | null) {
    const fetch = async (request: Request) => (await firstApp).fetch(request)
    servers.add(listening(() => Bun.serve({ ...optionsWith(certificate), fetch })))
  }

  /** Answers requests, over TLS with a `certificate`. Throws `DataError` when that is not possible. */
  function open(services: Services, certificate: Certificate | null): Bun.Server<unknown> {
    const before = [...servers]
    const app = createApp(services)
    listening(() => app.listen(optionsWith(certificate)))
    const server = app.server as Bun.Server<unknown>
    servers.add(server)
    if (config.console && config.consolePort !== null) {
      const ownApp = createConsoleApp(services)
      const options = { ...optionsWith(certificate), port: config.consolePort }
      listening(() => ownApp.listen(options), config.consolePort)
      servers.add(ownApp.server as Bun.Server<unknown>)
    }
    serveHeld(app)
    // What waits to be accepted when a socket is closed would be refused: first it is accepted.
    setTimeout(() => before.forEach(close), OVERLAP)
    return server
  }

  async function close(server: Bun.Server<unknown>) {
    await server.stop()
    servers.delete(server)
  }

  function optionsWith(certificate: Certificate | null) {
    return {
      port,
      hostname: host,
      reusePort: true,
      ...(certificate ? { tls: { cert: certificate.cert, key: certificate.key } } : {}),
      maxRequestBodySize: MAX_BODY,
      idleTimeout: IDLE_TIMEOUT,
      // What no hook has caught: somebody has thrown what is no error.
      error(error: Error) {
        log.error({ err: error }, 'request failed')
        return Response.json(failureBody(internalError(), crypto.randomUUID()), { status: 500 })
      },
    }
  }

  function listening<T>(listen: () => T, at = port): T {
    try {
      return listen()
    } catch (error) {
      const reason = reasonNotToListen((error as { code?: string }).code, { host, port: at })
      throw new DataError(reason, { cause: error })
    }
  }

  /** Lets requests in flight finish; they are cut when `again` resolves. */
  async function stop(again: Promise<unknown>) {
    await Promise.all([...servers].map((server) => drain(server, again, log)))
  }
}

function reasonNotToListen(
  code: string | undefined,
  { host, port }: Pick<Config, 'host' | 'port'>,
): string {
  if (code === 'EADDRINUSE') {
    return `Port ${port} is in use: choose another one with PORT or --port.`
  }
  if (code === 'EACCES') {
    return `Port ${port} is not allowed to this user: choose one above 1023 with PORT or --port, or give the service the capability CAP_NET_BIND_SERVICE.`
  }
  return `HOST ${host} is no address of this machine (${code}): take 127.0.0.1, or 0.0.0.0 for all.`
}
