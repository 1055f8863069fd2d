export type BoundedRequest = Omit<BunFetchRequestInit, 'signal' | 'headers'> & {
  headers?: Record<string, string>
  timeoutMs: number
  signal?: AbortSignal | undefined
}

/**
 * Requests an uncompressed response within `timeoutMs`, by default without redirects: see `readTextCapped`.
 */
export function fetchBounded(
  url: string,
  { timeoutMs, signal, headers, ...request }: BoundedRequest,
): Promise<Response> {
  const timeout = AbortSignal.timeout(timeoutMs)
  return fetch(url, {
    redirect: 'error',
    decompress: false,
    ...request,
    signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    headers: { 'accept-encoding': 'identity', ...headers },
  })
}

/** The body of a response as text; null when it exceeds `limit` bytes or is compressed. */
export async function readTextCapped(response: Response, limit: number): Promise<string | null> {
  return (await readBytesCapped(response, limit))?.toString('utf8') ?? null
}

/** Like `readTextCapped`, but returns bytes. */
export async function readBytesCapped(response: Response, limit: number): Promise<Buffer | null> {
  const encoding = response.headers.get('content-encoding') ?? 'identity'
  if (encoding !== 'identity') return null
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength
    if (size > limit) return null
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
