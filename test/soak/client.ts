/** `status` is 0 without a response. */
// biome-ignore lint/suspicious/noExplicitAny: responses of every shape
export type Reply = { status: number; json: any; bytes: Uint8Array; tag: string }

export type Request = {
  method: string
  path: string
  token?: string
  json?: unknown
  body?: Uint8Array
  headers?: Record<string, string>
}

export type Client = ReturnType<typeof createClient>

/** A request that takes longer counts as hanging. */
const REQUEST_TIMEOUT_MS = 60_000
/** The delay doubles with each retry. */
const FIRST_RETRY_DELAY_MS = 100
const MAX_RETRY_DELAY_MS = 1_000
/** The longest wait for an unavailable server. */
const RETRY_TIMEOUT_MS = 120_000

const UNAVAILABLE = [0, 429, 503, 507]

/**
 * Clients that retry every unanswered or temporarily refused request. `problems` collects
 * what should never happen, and `failures` counts refused and unanswered requests.
 */
export function createClient(url: string) {
  const problems: string[] = []
  const stats = { failures: 0, lastFailureAt: 0, lastFailure: '' }
  return { url, problems, stats, ask, askWithRetries }

  async function ask({ method, path, token, json, body, headers }: Request): Promise<Reply> {
    const isAbsolute = path.startsWith('http')
    const response = await fetch(isAbsolute ? path : url + path, {
      method,
      headers: {
        ...(json === undefined ? {} : { 'content-type': 'application/json' }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...headers,
      },
      body: json === undefined ? (body ?? null) : JSON.stringify(json),
      signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
    }).catch((error: Error) => {
      if (error.name === 'TimeoutError') problems.push(`${method} ${path} hangs`)
    })
    const bytes = await response?.bytes().catch(() => null)
    if (!response || !bytes) return { status: 0, json: null, bytes: new Uint8Array(), tag: '' }
    const isJson = response.headers.get('content-type')?.startsWith('application/json')
    return {
      status: response.status,
      json: isJson && bytes.length > 0 ? JSON.parse(Buffer.from(bytes).toString()) : null,
      bytes,
      tag: response.headers.get('etag') ?? '',
    }
  }

  /** The first conclusive response; `isRepeated` means an earlier attempt may have taken effect. */
  async function askWithRetries(request: Request): Promise<Reply & { isRepeated: boolean }> {
    const startedAt = performance.now()
    for (let delay = FIRST_RETRY_DELAY_MS, isRepeated = false; ; delay *= 2, isRepeated = true) {
      const reply = await ask(request)
      if (!UNAVAILABLE.includes(reply.status)) return { ...reply, isRepeated }
      stats.failures++
      stats.lastFailureAt = performance.now()
      stats.lastFailure = `${request.method} ${request.path}: ${reply.status}`
      if (performance.now() - startedAt > RETRY_TIMEOUT_MS) {
        problems.push(`${request.method} ${request.path} got ${reply.status} for two minutes`)
        return { ...reply, isRepeated }
      }
      await Bun.sleep(Math.min(delay, MAX_RETRY_DELAY_MS))
    }
  }
}
