import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'

/** Global unicast; everything else in IPv6 is reserved or has a special purpose. */
const GLOBAL_IPV6 = ipaddr.parseCIDR('2000::/3')
/** Azure's metadata and DNS service has a public address. */
const AZURE_METADATA = '168.63.129.16'

/**
 * Whether an address belongs to the public internet. Addresses that embed an IPv4 address, such as 6to4 and NAT64, do
 * not count as public: a gateway could translate them to a private one.
 */
export function isPublicAddress(text: string): boolean {
  if (isIP(text) === 0) return false
  const address = ipaddr.parse(text)
  if (address.range() !== 'unicast' || address.toString() === AZURE_METADATA) return false
  return address.kind() === 'ipv4' || address.match(GLOBAL_IPV6)
}
