import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** Global unicast; everything else in IPv6 is reserved or has a special purpose. */
const GLOBAL_IPV6 = ipaddr.parseCIDR('2000::/3')
/** Azure's metadata and DNS service has a public address. */
const AZURE_METADATA = '168.63.129.16'

/** RFC 6052 and RFC 8215: DNS64 embeds a host's IPv4 address in these. */
const NAT64 = ['64:ff9b::/96', '64:ff9b:1::/48'].map((range) => ipaddr.IPv6.parseCIDR(range))
/** RFC 6052, §2.2: the positions of the IPv4 address's bytes, for each prefix length. */
const EMBEDDED_AT = [
  [12, 13, 14, 15],
  [9, 10, 11, 12],
  [7, 9, 10, 11],
  [6, 7, 9, 10],
]

/**
 * A NAT64 address counts as the IPv4 address in it. Other embeddings, such as 6to4, are refused: they could lead to a
 * private address.
 */
export function isPublicAddress(text: string): boolean {
  if (isIP(text) === 0) return false
  const address = ipaddr.parse(text)
  if (address instanceof ipaddr.IPv6 && NAT64.some((range) => address.match(range)))
    return listEmbedded(address.toByteArray()).every(isPublicAddress)
  if (address.range() !== 'unicast' || address.toString() === AZURE_METADATA) return false
  return address.kind() === 'ipv4' || address.match(GLOBAL_IPV6)
}

/** The embedded IPv4 address for each possible prefix length: one after which all bytes are zero. */
function listEmbedded(bytes: number[]): string[] {
  return EMBEDDED_AT.filter((at) =>
    bytes.slice(Math.max(...at) + 1).every((byte) => byte === 0),
  ).map((at) => at.map((index) => bytes[index]).join('.'))
}
