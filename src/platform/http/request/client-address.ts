import type { Server } from 'bun'
import ipaddr from 'ipaddr.js'
import type { Log } from '../../../lib/log/log.ts'

type AnyServer = Server<unknown> | null

/** The key under which rate limits count a client's requests. */
export type FindIp = (request: Request, server: AnyServer) => string

type Network = ReturnType<typeof ipaddr.parseCIDR>
type Address = ipaddr.IPv4 | ipaddr.IPv6

/** The key of clients whose address is not known, such as those of a socket. */
export const UNKNOWN_ADDRESS = 'unknown'

const forwardedFrom = new WeakMap<Request, string>()

/** In upper case; null if there is none. */
export type FindCountry = (request: Request) => string | null

export type RequestCheck = (request: Request, server: AnyServer) => boolean

type AddressesDeps = {
  /** The addresses and networks of the trusted proxies. */
  trusted: string[]
  /** Peers have no address, and are the proxy. */
  isSocket?: boolean
  /** The header in which a proxy names the client's country; null when no proxy sets one. */
  countryHeader?: string | null
  log: Log
}

/** Finds out where a request comes from, behind trusted proxies. */
export function createAddresses(deps: AddressesDeps) {
  const { trusted, isSocket = false, countryHeader = null, log } = deps
  const networks = trusted.map(parseNetwork)
  const ignored = new Set<string>()
  return { findIp, findCountry, isFromProxy, networkCheck }

  /** IPv6 addresses are counted per /64, which usually belongs to one customer. */
  function findIp(request: Request, server: AnyServer): string {
    return toClientKey(findAddress(request, server))
  }

  /** In upper case. Any client can send the header, so only a trusted proxy's value counts. */
  function findCountry(request: Request, server: AnyServer): string | null {
    const country = countryHeader === null ? null : request.headers.get(countryHeader)
    if (countryHeader === null || country === null) return null
    if (isFromProxy(request, server)) return country.toUpperCase()
    warnIgnored(countryHeader, findPeerAddress(request, server))
    return null
  }

  function isFromProxy(request: Request, server: AnyServer): boolean {
    return isTrusted(readPeer(request, server))
  }

  /** Allows requests from `texts`, which are networks, or all requests when there are none. */
  function networkCheck(texts: string[]): RequestCheck {
    const allowed = texts.map(parseNetwork)
    return (request, server) => {
      if (allowed.length === 0) return true
      const address = findAddress(request, server)
      if (address === null || !isWithin(allowed, address)) return false
      const { headers } = request
      const isFromTrustedProxy = headers.has('x-forwarded-for') && isFromProxy(request, server)
      return !isLoopback(address) || !isForwarded(headers) || isFromTrustedProxy
    }
  }

  /** The peer's address, or behind trusted proxies the last untrusted one in `X-Forwarded-For`; null if unknown. */
  function findAddress(request: Request, server: AnyServer): Address | null {
    const peer = readPeer(request, server)
    const forwarded = request.headers.get('x-forwarded-for')
    if (forwarded === null) return peer
    if (!isTrusted(peer)) {
      if (peer !== null) warnIgnored('X-Forwarded-For', peer.toString())
      return peer
    }
    const hops = forwarded.split(',').map((hop) => parse(withoutPort(hop.trim())))
    const client = hops.findLastIndex((hop) => hop === null || !isWithin(networks, hop))
    return client < 0 ? peer : (hops[client] ?? null)
  }

  function isTrusted(peer: Address | null): boolean {
    return peer === null ? isSocket : isWithin(networks, peer)
  }

  /** Warns once for each header. */
  function warnIgnored(header: string, peer: string | null) {
    if (ignored.has(header)) return
    ignored.add(header)
    log.warn({ peer }, `${header} from ${peer} is ignored: it is not in TRUSTED_PROXIES`)
  }
}

/** Whether a request came from this machine itself, not through a proxy on it. */
export function isLocal(request: Request, server: AnyServer): boolean {
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

export function findPeerAddress(request: Request, server: AnyServer): string | null {
  return forwardedFrom.get(request) ?? server?.requestIP(request)?.address ?? null
}

function readPeer(request: Request, server: AnyServer): Address | null {
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

const FORWARDING =
  /^via$|forwarded|client-?ip|client-?addr|-ip$|^(cf|cdn|fastly|fly)-|^x-(real|original|remote|proxy|nginx|envoy|azure|amzn?|arr|appengine|vercel|scheme)(-|$)/

export function isForwarded(headers: Headers): boolean {
  return [...headers.keys()].some((name) => FORWARDING.test(name))
}
