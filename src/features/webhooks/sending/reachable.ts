import { createConnection } from 'node:net'

/** After this time without a connection, the next address is tried as well (RFC 8305, §5). */
const NEXT_ADDRESS_MS = 250

/** Returns the first URL whose address accepts a connection. Throws the last error if none does. */
export async function firstReachable(urls: string[], signal: AbortSignal): Promise<string> {
  const [first = ''] = urls
  if (urls.length === 1) return first
  const found = new AbortController()
  const ended = AbortSignal.any([signal, found.signal])
  const attempts: Promise<string>[] = []
  try {
    for (const tried of urls) {
      attempts.push(openConnection(tried, ended))
      const reached = Promise.any(attempts).catch(() => null)
      const url = await Promise.race([reached, Bun.sleep(NEXT_ADDRESS_MS).then(() => null)])
      if (url !== null) return url
    }
    return await Promise.any(attempts)
  } catch (error) {
    throw (error as AggregateError).errors.at(-1)
  } finally {
    found.abort()
  }
}

/** Opens a connection to a URL's address, and closes it again. */
function openConnection(url: string, signal: AbortSignal): Promise<string> {
  const { hostname, port, protocol } = new URL(url)
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const socket = createConnection({
    host: hostname.replace(/^\[|\]$/g, ''),
    port: Number(port || (protocol === 'https:' ? 443 : 80)),
  })
  socket.on('connect', () => resolve(url)).on('error', reject)
  if (signal.aborted) reject(signal.reason)
  signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  return promise.finally(() => socket.destroy())
}
