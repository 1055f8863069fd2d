import { Elysia } from 'elysia'
import { malformed } from './errors.ts'
import { isWithoutHost } from './request-url.ts'

/** All that is answered without a Host, which simple probes leave out. */
const PROBES = /^\/(health|ready)$/

/** Rejects requests whose URL different routers would parse to different paths. Runs before everything that decides by path. */
export function host() {
  return new Elysia({ name: 'host' }).onRequest(({ request }) => {
    // Two of them arrive joined.
    const isDoubled = request.headers.get('host')?.includes(',')
    if (isDoubled || isTooShort(request) || (isWithoutHost(request) && !PROBES.test(request.url))) {
      throw malformed('The Host header is not valid.')
    }
  })
}

/** Behind https the router takes a host to have three characters: no name that can be certified has fewer. */
function isTooShort({ url }: Request): boolean {
  return url.startsWith('https:') && url.indexOf('/', 'https://'.length) < 'https://abc'.length
}
