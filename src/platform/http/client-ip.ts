import type { Server } from 'bun'
import ipaddr from 'ipaddr.js'
import type { Log } from '../../lib/log.ts'
import { isForwarded } from './forwarded.ts'

/** Tells where a request comes from: the key by which limits count. */
export type IpOf = (request: Request, server: Server<unknown> | null) => string

type Network = ReturnType<typeof ipaddr.parseCIDR>
type Address = ipaddr.IPv4 | ipaddr.IPv6

const UNKNOWN = 'unknown'

const passedOn = new WeakMap<Request, string>()

/** Whether a request comes from where it may. */
export type IsAllowed = (request: Request, server: Server<unknown> | null) => boolean

type AddressOf = ReturnType<typeof createAddressOf>

/**
 * The address of the client: that of the peer, or, where the peer is a trusted proxy, the last one in
 * `X-Forwarded-For` that is not a trusted proxy. Null when it is not known.
 */
export function createAddressOf({ trusted, log }: { trusted: string[]; log: Log }) {
  const networks = trusted.map(parseNetwork)
  let hasWarned = false
  return (request: Request, server: Server<unknown> | null): Address | null => {
    const peer = peerOf(request, server)
    const forwarded = request.headers.get('x-forwarded-for')
    if (forwarded === null || peer === null) return peer
    if (!isWithin(networks, peer)) {
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
    const hops = forwarded.split(',').map((hop) => parse(hop.trim()))
    return hops.findLast((hop) => hop === null || !isWithin(networks, hop)) ?? peer
  }
}

/** IPv6 counts by its /64, for a whole one belongs to a single line. */
export function createIpOf(addressOf: AddressOf): IpOf {
  return (request, server) => group(addressOf(request, server))
}

/** Whether a request comes from a trusted proxy, whose word on the client counts. */
export function createProxyCheck(trusted: string[]): IsAllowed {
  const networks = trusted.map(parseNetwork)
  return (request, server) => {
    const peer = peerOf(request, server)
    return peer !== null && isWithin(networks, peer)
  }
}

/** Lets in what comes from one of `networks`; all where there are none. */
export function createNetworkCheck(
  networks: string[],
  addressOf: AddressOf,
  isFromProxy: IsAllowed,
): IsAllowed {
  const allowed = networks.map(parseNetwork)
  return (request, server) => {
    if (allowed.length === 0) return true
    const address = addressOf(request, server)
    if (address === null || !isWithin(allowed, address)) return false
    const { headers } = request
    const isVouchedFor = headers.has('x-forwarded-for') && isFromProxy(request, server)
    return !isLoopback(address) || !isForwarded(headers) || isVouchedFor
  }
}

/** Whether a request was made on this machine: a proxy here passes on what comes from elsewhere. */
export function isLocal(request: Request, server: Server<unknown> | null): boolean {
  const peer = peerOf(request, server)
  return peer !== null && isLoopback(peer) && !isForwarded(request.headers)
}

/** What connections are counted by, out of the bytes of an address; null for trusted proxies, which have those of many. */
export function createConnectionKey(trusted: string[]): (address: Uint8Array) => string | null {
  const networks = trusted.map(parseNetwork)
  return (bytes) => {
    const address = ipaddr.process(ipaddr.fromByteArray([...bytes]).toString())
    return isWithin(networks, address) ? null : group(address)
  }
}

/** Who sent a request that another process of ours has passed on. */
export function setPeerAddress(request: Request, address: string) {
  passedOn.set(request, address)
}

/** The address of whoever is connected to us. */
export function peerAddressOf(request: Request, server: Server<unknown> | null): string | null {
  return passedOn.get(request) ?? server?.requestIP(request)?.address ?? null
}

function peerOf(request: Request, server: Server<unknown> | null): Address | null {
  return parse(peerAddressOf(request, server) ?? undefined)
}

function isLoopback(address: Address): boolean {
  return address.range() === 'loopback'
}

function isWithin(networks: Network[], address: Address): boolean {
  return networks.some(([network, bits]) => {
    return network.kind() === address.kind() && address.match(network, bits)
  })
}

/** An address or a network such as `10.0.0.0/8`. Throws when it is neither. */
function parseNetwork(text: string): Network {
  if (text.includes('/')) return ipaddr.parseCIDR(text)
  const address = ipaddr.process(text)
  return [address, address.kind() === 'ipv4' ? 32 : 128]
}

function parse(text: string | undefined): Address | null {
  return text !== undefined && ipaddr.isValid(text) ? ipaddr.process(text) : null
}

function group(address: Address | null): string {
  if (address === null) return UNKNOWN
  if (address.kind() === 'ipv4') return address.toString()
  return `${(address as ipaddr.IPv6).parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`
}
