import { isIP } from 'node:net'
import { isPublicAddress } from './address.ts'

/** Resolves a host name to all of its addresses. Throws if there is none. */
export type Resolve = (host: string) => Promise<string[]>

/** Where to send a request: `url` names a checked address, `host` and `serverName` the endpoint. */
export type Target = { urls: string[]; host: string; serverName: string | null }

/** A URL that no request may be sent to; the message says why. */
export class TargetRefusal extends Error {
  override readonly name = 'TargetRefusal'
}

export class UnknownHost extends Error {
  override readonly name = 'UnknownHost'
}

const MAX_URL_LENGTH = 2_000

export function createTargets({ resolve, allowsPrivate }: TargetDeps) {
  return { parse, locate }

  /** Throws `TargetRefusal`. */
  function parse(text: string): URL {
    const url = text.length > MAX_URL_LENGTH ? null : URL.parse(text)
    if (url === null) throw new TargetRefusal('must be a URL such as https://example.com/hooks')
    if (url.protocol !== 'https:' && !(allowsPrivate && url.protocol === 'http:'))
      throw new TargetRefusal('must begin with https://')
    if (url.username !== '' || url.password !== '')
      throw new TargetRefusal('must not contain a user name or password')
    if (url.port === '0') throw new TargetRefusal('must not use port 0')
    // Certificates do not include the final dot of a fully qualified name.
    url.hostname = url.hostname.replace(/\.$/, '')
    url.hash = ''
    return url
  }

  /**
   * Resolves once and checks every address, so that no connection goes to an unchecked one. Throws `TargetRefusal` or
   * `UnknownHost`.
   */
  async function locate(text: string): Promise<Target> {
    const url = parse(text)
    const { hostname, host, pathname, search, protocol, port } = url
    const literal = hostname.replace(/^\[|\]$/g, '')
    const isLiteral = isIP(literal) !== 0
    const addresses = isLiteral ? [literal] : await resolveName(hostname)
    const refused = addresses.find((address) => !isPublicAddress(address))
    if (refused !== undefined && !allowsPrivate) {
      throw new TargetRefusal(
        isLiteral
          ? `${hostname} is not a public address`
          : `${hostname} resolves to ${refused}, which is not a public address`,
      )
    }
    // IPv4 first: many servers have no route for IPv6.
    const urls = addresses
      .toSorted((one, other) => isIP(one) - isIP(other))
      .map((address) => {
        const bracketed = isIP(address) === 6 ? `[${address}]` : address
        return `${protocol}//${bracketed}${port === '' ? '' : `:${port}`}${pathname}${search}`
      })
    return { urls, host, serverName: isLiteral || protocol === 'http:' ? null : hostname }
  }

  async function resolveName(name: string): Promise<string[]> {
    try {
      const addresses = await resolve(name)
      if (addresses.length > 0) return addresses
    } catch (cause) {
      throw new UnknownHost(`${name} could not be resolved`, { cause })
    }
    throw new UnknownHost(`${name} has no address`)
  }
}

type TargetDeps = {
  resolve: Resolve
  /** Allows private addresses and plain http, for tests and private networks. */
  allowsPrivate: boolean
}

export type Targets = ReturnType<typeof createTargets>

/** Resolves without a thread: a DNS server that does not respond must not delay other names. */
export async function resolveHost(host: string): Promise<string[]> {
  const found = await Bun.dns.lookup(host, { backend: 'c-ares' })
  return [...new Set(found.map(({ address }) => address))]
}
