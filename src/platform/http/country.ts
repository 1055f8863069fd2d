import type { Server } from 'bun'
import type { Log } from '../../lib/log/log.ts'
import { peerAddressOf, type RequestCheck } from './client-address.ts'

/** The country code that a proxy reports for a request, in capitals; null without one. */
export type CountryOf = (request: Request, server: Server<unknown> | null) => string | null

/**
 * Any client can send `header`, so it is used only when a trusted proxy sends it. `header` is null
 * when no proxy sets one.
 */
export function createCountryOf(
  header: string | null,
  { isFromProxy, log }: { isFromProxy: RequestCheck; log: Log },
): CountryOf {
  let hasWarned = false
  return (request, server) => {
    const country = header === null ? null : request.headers.get(header)
    if (country === null) return null
    if (isFromProxy(request, server)) return country.toUpperCase()
    if (!hasWarned) {
      const peer = peerAddressOf(request, server)
      log.warn({ peer }, `${header} from ${peer} is ignored: it is not in TRUSTED_PROXIES`)
      hasWarned = true
    }
    return null
  }
}
