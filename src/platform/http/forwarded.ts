/** What proxies and CDNs add to a request: names in use, by what they have in common. */
const FORWARDING =
  /^via$|forwarded|client-?ip|client-?addr|-ip$|^(cf|cdn|fastly|fly)-|^x-(real|original|remote|proxy|nginx|envoy|azure|amzn?|arr|appengine|vercel|scheme)(-|$)/

/** Whether a proxy has passed a request on, as far as headers tell. */
export function isForwarded(headers: Headers): boolean {
  return [...headers.keys()].some((name) => FORWARDING.test(name))
}
