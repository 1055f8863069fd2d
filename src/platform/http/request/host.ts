import { Elysia } from 'elysia'
import { malformed } from '../replies/errors.ts'
import { isWithoutHost } from './request-url.ts'

/** The only paths that are served without a Host header, which simple probes omit. */
const PROBES = /^\/(health|ready)$/

/** Refuses requests whose URL could be parsed in different ways. Runs before any check of the path. */
export function host() {
  return new Elysia({ name: 'host' }).onRequest(function requireHost({ request }) {
    // Two Host headers arrive joined.
    const hasTwoHosts = request.headers.get('host')?.includes(',')
    if (
      hasTwoHosts ||
      hasTooShortHost(request) ||
      (isWithoutHost(request) && !PROBES.test(request.url))
    ) {
      throw malformed('The Host header is not valid.')
    }
  })
}

/** The router assumes at least three characters in an https host, as every name in a certificate has. */
function hasTooShortHost({ url }: Request): boolean {
  return url.startsWith('https:') && url.indexOf('/', 'https://'.length) < 'https://abc'.length
}
