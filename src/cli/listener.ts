import { createApp } from '../app.ts'
import type { Config } from '../config.ts'
import { IDLE_TIMEOUT } from '../http/body.ts'
import { failureBody, internalError } from '../http/errors.ts'
import type { Log } from '../lib/log.ts'
import type { Services } from '../services.ts'
import { DataError } from './data-directory.ts'
import { drain } from './drain.ts'
import { announce } from './server-log.ts'
import type { Certificate } from './tls/certificate.ts'

/** Above every cap of ours, so that a body that is too large gets our answer and not Bun's. */
const MAX_BODY = 128 * 1024 * 1024

/** Where requests come in. A new certificate takes a new socket on the same port; the old one ends with its requests. */
export function createListener(services: Services, log: Log) {
  const { port, host } = services.config
  const servers = new Set<Bun.Server<unknown>>()
  return { open, probe, stop }

  /** Listens, over TLS with a `certificate`. Throws `DataError` when that is not possible. */
  function open(certificate: Certificate | null): Bun.Server<unknown> {
    const before = [...servers]
    const server = start(certificate, certificate !== null)
    servers.add(server)
    if (certificate && before.length === 0) announce(services.config, server, log)
    for (const old of before) void old.stop().then(() => servers.delete(old))
    return server
  }

  function start(certificate: Certificate | null, reusePort: boolean): Bun.Server<unknown> {
    const tls = certificate && { cert: certificate.cert, key: certificate.key }
    try {
      const { server } = createApp(services).listen({
        port,
        hostname: host,
        reusePort,
        ...(tls ? { tls } : {}),
        maxRequestBodySize: MAX_BODY,
        idleTimeout: IDLE_TIMEOUT,
        // What no hook has caught: somebody has thrown what is no error.
        error(error) {
          log.error({ err: error }, 'request failed')
          return Response.json(failureBody(internalError(), crypto.randomUUID()), { status: 500 })
        },
      })
      if (!server) throw new Error('the server did not start')
      return server
    } catch (error) {
      throw cannotListen(error)
    }
  }

  /** Throws `DataError` when `open` would, or would share the port with another program. */
  function probe() {
    try {
      Bun.serve({ port, hostname: host, fetch: () => new Response() }).stop(true)
    } catch (error) {
      throw cannotListen(error)
    }
  }

  function cannotListen(cause: unknown): DataError {
    const { code } = cause as { code?: string }
    return new DataError(reasonNotToListen(code, services.config), { cause })
  }

  /** Lets requests in flight finish; they are cut when `again` resolves. */
  async function stop(again: Promise<unknown>) {
    await Promise.all([...servers].map((server) => drain(server, again, log)))
  }
}

function reasonNotToListen(code: string | undefined, { host, port }: Config): string {
  if (code === 'EADDRINUSE') {
    return `Port ${port} is in use: choose another one with PORT or --port.`
  }
  if (code === 'EACCES') {
    return `Port ${port} is not allowed to this user: choose one above 1023 with PORT or --port, or allow it with "AmbientCapabilities=CAP_NET_BIND_SERVICE".`
  }
  return `HOST ${host} is no address of this machine (${code}): take 127.0.0.1, or 0.0.0.0 for all.`
}
