import { httpsOrigin } from '../../config/values.ts'
import { readPath, readTarget } from '../../platform/http/request/request-url.ts'

type HttpPortDeps = {
  hostname: string
  port: number
  /** The names that are served over https; requests to other names are redirected to the first one. */
  domains: string[]
  httpsPort: number
  challenges: ReadonlyMap<string, string>
}

const CHALLENGES = '/.well-known/acme-challenge/'

/** Plain HTTP: answers the certificate authority, and redirects every other request to https. */
export function serveHttpPort({ hostname, port, domains, httpsPort, challenges }: HttpPortDeps) {
  return Bun.serve({
    hostname,
    port,
    // The next process listens before the previous one stops.
    reusePort: true,
    maxRequestBodySize: 64 * 1024,
    idleTimeout: 10,
    fetch(request) {
      const path = readPath(request)
      if (path.startsWith(CHALLENGES)) {
        const reply = challenges.get(path.slice(CHALLENGES.length))
        return new Response(reply ?? 'Not found.', { status: reply === undefined ? 404 : 200 })
      }
      const requested = URL.parse(request.url)?.hostname ?? ''
      const name = domains.includes(requested) ? requested : (domains[0] ?? requested)
      const location = httpsOrigin(name, httpsPort) + readTarget(request)
      // Clients send one request here, and a keep-alive connection would be lost at a restart.
      return new Response(null, { status: 308, headers: { location, connection: 'close' } })
    },
  })
}
