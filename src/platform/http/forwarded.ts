/** The headers that proxies and CDNs add to requests. */
const FORWARDING =
  /^via$|forwarded|client-?ip|client-?addr|-ip$|^(cf|cdn|fastly|fly)-|^x-(real|original|remote|proxy|nginx|envoy|azure|amzn?|arr|appengine|vercel|scheme)(-|$)/

/** Whether headers show that a proxy has forwarded a request. */
export function isForwarded(headers: Headers): boolean {
  return [...headers.keys()].some((name) => FORWARDING.test(name))
}
