import type { Server } from 'bun'
import ipaddr from 'ipaddr.js'
import type { Log } from '../lib/log.ts'

/** Tells where a request comes from: the key by which limits count. */
export type IpOf = (request: Request, server: Server<unknown> | null) => string

type Network = ReturnType<typeof ipaddr.parseCIDR>

const UNKNOWN = 'unknown'

/**
 * The address of the client: that of the peer, or, where the peer is a trusted proxy, the last one in
 * `X-Forwarded-For` that is not a trusted proxy. IPv6 counts by its /64, for a whole one belongs to a single line.
 */
export function createIpOf({ trusted, log }: { trusted: string[]; log: Log }): IpOf {
  const networks = trusted.map(parseNetwork)
  let hasWarned = false
  return (request, server) => {
    const peer = parse(server?.requestIP(request)?.address)
    const forwarded = request.headers.get('x-forwarded-for')
    if (forwarded === null || peer === null) return group(peer)
    if (!isTrusted(peer)) {
      if (!hasWarned) {
        const address = peer.toString()
        log.warn(
          { peer: address },
          `X-Forwarded-For from ${address} is ignored: it is not in TRUSTED_PROXIES`,
        )
        hasWarned = true
      }
      return group(peer)
    }
    const hops = forwarded.split(',').map((hop) => parse(hop.trim()))
    return group(hops.findLast((hop) => hop === null || !isTrusted(hop)) ?? peer)
  }

  function isTrusted(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
    return networks.some(([network, bits]) => {
      return network.kind() === address.kind() && address.match(network, bits)
    })
  }
}

/** An address or a network such as `10.0.0.0/8`. Throws when it is neither. */
function parseNetwork(text: string): Network {
  if (text.includes('/')) return ipaddr.parseCIDR(text)
  const address = ipaddr.process(text)
  return [address, address.kind() === 'ipv4' ? 32 : 128]
}

function parse(text: string | undefined): ipaddr.IPv4 | ipaddr.IPv6 | null {
  return text !== undefined && ipaddr.isValid(text) ? ipaddr.process(text) : null
}

function group(address: ipaddr.IPv4 | ipaddr.IPv6 | null): string {
  if (address === null) return UNKNOWN
  if (address.kind() === 'ipv4') return address.toString()
  return `${(address as ipaddr.IPv6).parts
    .slice(0, 4)
    .map((part) => part.toString(16))
    .join(':')}::/64`
}
