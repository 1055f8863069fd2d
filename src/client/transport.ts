import { ApiError } from './api-error.ts'
import { newMessageId, openReply, sealRequest } from './sealing.ts'
import type { createServerKeys } from './server-keys.ts'
import type { Incoming, Progress, Transmit } from './transmit.ts'

/** A request before it is decided whether it goes out plain or sealed. */
export type Request = {
  method: string
  /** Path and query, percent-encoded as they go out. */
  target: string
  headers: Record<string, string>
  token: string | null
  contentType: string | null
  body: Uint8Array<ArrayBuffer> | null
  onProgress?: (progress: Progress) => void
}

/** A reply, opened. `isGenuine`: it was sealed by the server, or sealing is off. */
export type Reply = Incoming & { isGenuine: boolean }

/** `sealedAt`: when the server sealed it, in ms; null when it did not. */
type SealedReply = Reply & { sealedAt: number | null }

export type Send = (request: Request) => Promise<Reply>

type TransportDeps = {
  baseUrl: string
  env: string
  keys: Pick<ReturnType<typeof createServerKeys>, 'current' | 'renew'>
  transmit: Transmit
  /** ms since 1970. */
  now: () => number
}

/** A message is fresh for so long on either side of the server's clock, in ms. */
const FRESH = 300_000
/** The server remembers what it has carried out for longer than this, in ms. */
const RESEND_WINDOW = 60_000
/** A reading of the clock that took longer tells too little, in ms. */
const MAX_CLOCK_ROUND_TRIP = 10_000
/** Anything that everybody may read: its sealed reply tells the time of the server. */
const CLOCK_PATH = '/api/user/content_version/v1'

/** Sends requests as `env` says: `test` is plain, every other word is sealed. */
export function createTransport({ baseUrl, env, keys, transmit, now }: TransportDeps): Send {
  /** What the server's clock is ahead of ours, in ms. */
  let clockOffset = 0
  return env === 'test' ? sendPlain : sendSealed

  async function sendPlain(request: Request): Promise<Reply> {
    const { method, target, contentType, body, onProgress } = request
    const headers = headersOf(request, contentType)
    if (request.token !== null) headers['authorization'] = `Bearer ${request.token}`
    const url = baseUrl + target
    return { ...(await transmit({ url, method, headers, body }, onProgress)), isGenuine: true }
  }

  /**
   * When the server has another key or another time, it is learned and the request sealed again, once. That
   * this is so is said in plain, and could be a lie about a request that was carried out: so the second
   * message has the id of the first, and the time is believed from a sealed reply alone.
   */
  async function sendSealed(request: Request): Promise<Reply> {
    const id = newMessageId()
    const startedAt = performance.now()
    const at = now() + clockOffset
    const reply = await exchange(request, id, at)
    if (reply.isGenuine) return reply
    const code = codeOf(reply)
    if (code === 'encryption_unknown_key') await keys.renew()
    else if (code !== 'encryption_stale' || !(await wasStale(at, timeIn(reply.text)))) return reply
    // Whoever holds us up until the server has forgotten the first message wants it done twice.
    if (performance.now() - startedAt > RESEND_WINDOW) return reply
    return exchange(request, id, now() + clockOffset)
  }

  /** Reads the clock of the server. True when a message of `at` is not fresh by it. */
  async function wasStale(at: number, claimed: number): Promise<boolean> {
    const request = { method: 'GET', target: CLOCK_PATH, headers: {}, token: null }
    const asked = { ...request, contentType: null, body: null }
    const startedAt = now()
    const { sealedAt } = await exchange(asked, newMessageId(), claimed)
    if (sealedAt === null || Math.abs(now() - startedAt) > MAX_CLOCK_ROUND_TRIP) return false
    clockOffset = sealedAt - now()
    return Math.abs(sealedAt - at) > FRESH
  }

  async function exchange(request: Request, id: string, at: number): Promise<SealedReply> {
    const { method, target, token, contentType, onProgress } = request
    const content = { method, target, token, contentType, body: request.body ?? new Uint8Array() }
    const { message, expectation } = await sealRequest(content, await keys.current(), at, id)
    const inHeader = request.body === null
    const headers = headersOf(request, inHeader ? null : 'application/jose')
    if (inHeader) headers['payload'] = message
    const body = inHeader ? null : message
    const reply = await transmit({ url: baseUrl + target, method, headers, body }, onProgress)
    const { status } = reply
    if (!reply.header('content-type')?.startsWith('application/jose')) {
      if (status >= 400) return { ...reply, isGenuine: false, sealedAt: null }
      const text = 'The reply is not sealed: somebody between the app and the server made it.'
      throw new ApiError({ status, code: 'reply_not_sealed', message: text })
    }
    const { sealedAt, ...opened } = await openReply(reply.text, status, expectation)
    const header = (name: string) =>
      name === 'content-type' ? opened.contentType : reply.header(name)
    const text = new TextDecoder().decode(opened.body)
    return { status, text, header, isGenuine: true, sealedAt }
  }

  function headersOf({ headers }: Request, contentType: string | null) {
    return {
      ...headers,
      env,
      ...(contentType === null ? {} : { 'content-type': contentType }),
    } as Record<string, string>
  }
}

/** The time that a sentence names, in ms; now, where it names none. */
function timeIn(text: string): number {
  const [time = ''] = /\d{4}-\d\d-\d\dT[\d:.]+Z/.exec(text) ?? []
  return Date.parse(time) || Date.now()
}

function codeOf({ text }: Incoming): string | undefined {
  try {
    return (JSON.parse(text) as { code?: string }).code
  } catch {
    return undefined
  }
}
