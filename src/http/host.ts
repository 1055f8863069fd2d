import { Elysia } from 'elysia'
import { malformed } from './errors.ts'
import { isWithoutHost } from './request-url.ts'

/** All that is answered without a Host, which simple probes leave out. */
const PROBES = /^\/(health|ready)$/

/** Refuses requests out of whose URL each router would read another path. Comes before all that judges by it. */
export function host() {
  return new Elysia({ name: 'host' }).onRequest(({ request }) => {
    // Two of them arrive joined.
    const isDoubled = request.headers.get('host')?.includes(',')
    if (isDoubled || (isWithoutHost(request) && !PROBES.test(request.url))) {
      throw malformed('The Host header is no host.')
    }
  })
}
