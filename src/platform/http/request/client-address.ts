import type { Server } from 'bun'
import ipaddr from 'ipaddr.js'
import type { Log } from '../../../lib/log/log.ts'

/** The key under which rate limits count a client's requests. */
export type FindIp = (request: Request, server: Server<unknown> | null) => string

type Network = ReturnType<typeof ipaddr.parseCIDR>
type Address = ipaddr.IPv4 | ipaddr.IPv6

/** The key of clients whose address is not known, such as those of a socket. */
export const UNKNOWN_ADDRESS = 'unknown'

const forwardedFrom = new WeakMap<Request, string>()

export type RequestCheck = (request: Request, server: Server<unknown> | null) => boolean

type ProxyDeps = { trusted: string[]; isSocket?: boolean }

type FindAddress = ReturnType<typeof createAddressReader>

/**
 * The peer's address, or behind trusted proxies the last untrusted one in `X-Forwarded-For`; null if unknown.
 * `isSocket`: peers have no address, and are the proxy.
 */
export function createAddressReader({ trusted, log, isSocket = false }: ProxyDeps & { log: Log }) {
  const networks = trusted.map(parseNetwork)
  let hasWarned = false
  return (request: Request, server: Server<unknown> | null): Address | null => {
    const peer = readPeer(request, server)
    const forwarded = request.headers.get('x-forwarded-for')
    if (forwarded === null || (peer === null && !isSocket)) return peer
    if (peer !== null && !isWithin(networks, peer)) {
      if (!hasWarned) {
        const address = peer.toString()
        log.warn(
          { peer: address },
          `X-Forwarded-For from ${address} is ignored: it is not in TRUSTED_PROXIES`,
        )
        hasWarned = true
      }
      return peer
    }
    const hops = forwarded.split(',').map((hop) => parse(withoutPort(hop.trim())))
    const client = hops.findLastIndex((hop) => hop === null || !isWithin(networks, hop))
    return client < 0 ? peer : (hops[client] ?? null)
  }
}

/** IPv6 addresses are counted per /64, which usually belongs to one customer. */
export function createIpReader(findAddress: FindAddress): FindIp {
  return (request, server) => toClientKey(findAddress(request, server))
}

export function createProxyCheck({ trusted, isSocket }: ProxyDeps): RequestCheck {
  const networks = trusted.map(parseNetwork)
  return (request, server) => {
    const peer = readPeer(request, server)
    return peer === null ? isSocket === true : isWithin(networks, peer)
  }
}

/** Allows requests from `networks`, or all requests when `networks` is empty. */
export function createNetworkCheck(
  networks: string[],
  findAddress: FindAddress,
  isFromProxy: RequestCheck,
): RequestCheck {
  const allowed = networks.map(parseNetwork)
  return (request, server) => {
    if (allowed.length === 0) return true
    const address = findAddress(request, server)
    if (address === null || !isWithin(allowed, address)) return false
    const { headers } = request
    const isFromTrustedProxy = headers.has('x-forwarded-for') && isFromProxy(request, server)
    return !isLoopback(address) || !isForwarded(headers) || isFromTrustedProxy
  }
}

/** Whether a request came from this machine itself, not through a proxy on it. */
export function isLocal(request: Request, server: Server<unknown> | null): boolean {
  const peer = readPeer(request, server)
  return peer !== null && isLoopback(peer) && !isForwarded(request.headers)
}

/** The key by which connections are counted, from the bytes of an address; null for trusted proxies. */
export function createConnectionKey(trusted: string[]): (address: Uint8Array) => string | null {
  const networks = trusted.map(parseNetwork)
  return (bytes) => {
    const address = ipaddr.process(ipaddr.fromByteArray([...bytes]).toString())
    return isWithin(networks, address) ? null : toClientKey(address)
  }
}

/** Sets the client address of a request that another process of ours has forwarded. */
export function setPeerAddress(request: Request, address: string) {
  forwardedFrom.set(request, address)
}

export function findPeerAddress(request: Request, server: Server<unknown> | null): string | null {
  return forwardedFrom.get(request) ?? server?.requestIP(request)?.address ?? null
}

function readPeer(request: Request, server: Server<unknown> | null): Address | null {
  return parse(findPeerAddress(request, server) ?? undefined)
}

function isLoopback(address: Address): boolean {
  return address.range() === 'loopback'
}

function isWithin(networks: Network[], address: Address): boolean {
  return networks.some(([network, bits]) => {
    return network.kind() === address.kind() && address.match(network, bits)
  })
}

/** Parses an address or a network such as `10.0.0.0/8`. Throws when it is neither. */
function parseNetwork(text: string): Network {
  if (text.includes('/')) return ipaddr.parseCIDR(text)
  const address = ipaddr.process(text)
  return [address, address.kind() === 'ipv4' ? 32 : 128]
}

function parse(text: string | undefined): Address | null {
  return text !== undefined && ipaddr.isValid(text) ? ipaddr.process(text) : null
}

/** Some proxies write `203.0.113.5:51234` and `[2001:db8::1]:443`. */
function withoutPort(hop: string): string {
  return /^\[(.+)\](?::\d+)?$/.exec(hop)?.[1] ?? /^([\d.]+):\d+$/.exec(hop)?.[1] ?? hop
}

function toClientKey(address: Address | null): string {
  if (address === null) return UNKNOWN_ADDRESS
  if (address.kind() === 'ipv4') return address.toString()
  return `${(address as ipaddr.IPv6).parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`
}

/** In upper case; null if there is none. */
export type FindCountry = (request: Request) => string | null

/** Any client can send `header`, so only a trusted proxy's value counts. `header` is null when no proxy sets one. */
export function createCountryReader(
  header: string | null,
  { isFromProxy, log }: { isFromProxy: RequestCheck; log: Log },
) {
  let hasWarned = false
  return (request: Request, server: Server<unknown> | null): string | null => {
    const country = header === null ? null : request.headers.get(header)
    if (country === null) return null
    if (isFromProxy(request, server)) return country.toUpperCase()
    if (!hasWarned) {
      const peer = findPeerAddress(request, server)
      log.warn({ peer }, `${header} from ${peer} is ignored: it is not in TRUSTED_PROXIES`)
      hasWarned = true
    }
    return null
  }
}

const FORWARDING =
  /^via$|forwarded|client-?ip|client-?addr|-ip$|^(cf|cdn|fastly|fly)-|^x-(real|original|remote|proxy|nginx|envoy|azure|amzn?|arr|appengine|vercel|scheme)(-|$)/

export function isForwarded(headers: Headers): boolean {
  return [...headers.keys()].some((name) => FORWARDING.test(name))
}
