import { ApiError } from './api-error.ts'
import type { Patience } from './patience.ts'
import { newMessageId, openReply, sealRequest } from './sealing.ts'
import { createServerKeys } from './server-keys.ts'
import type { Incoming, Transmit } from './transmit.ts'
import { headersOf, type Reply, type Request, type Send } from './transport.ts'

/** `sealedAt`: when the server sealed it, in ms; null when it did not. */
type SealedReply = Reply & { sealedAt: number | null }

type SealedTransportDeps = {
  baseUrl: string
  /** Any word but `test`. */
  env: string
  /** Thumbprints (RFC 7638) that may be believed; without them, whatever the network says is. */
  pinnedKeys: string[] | null
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

/** Sends requests sealed. This module is loaded only where that is asked for: it brings the cryptography. */
export function createSealedTransport(deps: SealedTransportDeps): Send {
  const { baseUrl, env, pinnedKeys, transmit, now } = deps
  const keys = createServerKeys({ baseUrl, pinnedKeys, transmit, now })
  /** What the server's clock is ahead of ours, in ms. */
  let clockOffset = 0
  return sendSealed

  /**
   * When the server has another key or another time, each is learned once and the request sealed again. That
   * this is so is said in plain, and could be a lie about a request that was carried out: so every message has
   * the id of the first, and the time is believed from a sealed reply alone.
   */
  async function sendSealed(request: Request): Promise<Reply> {
    const id = newMessageId()
    const startedAt = performance.now()
    const learned: unknown[] = []
    for (;;) {
      const at = now() + clockOffset
      const reply = await exchange(request, id, at)
      const code = reply.isGenuine ? undefined : codeOf(reply)
      if (learned.includes(code) || !(await learn(code, reply, at, request.patience))) return reply
      // Whoever holds us up until the server has forgotten the first message wants it done twice.
      if (performance.now() - startedAt > RESEND_WINDOW) return reply
      learned.push(code)
    }
  }

  /** True when what made the server refuse a message of `at` is put right. */
  async function learn(code: unknown, { text }: Reply, at: number, patience: Patience) {
    if (code === 'encryption_stale') return wasStale(at, timeIn(text), patience)
    if (code !== 'encryption_unknown_key') return false
    await keys.renew()
    return true
  }

  /** Reads the clock of the server. True when a message of `at` is not fresh by it. */
  async function wasStale(at: number, claimed: number, patience: Patience): Promise<boolean> {
    const request = { method: 'GET', target: CLOCK_PATH, headers: {}, token: null }
    const asked = {
      ...request,
      contentType: null,
      body: null,
      patience: { ...patience, onProgress: undefined },
    }
    const startedAt = now()
    const { sealedAt } = await exchange(asked, newMessageId(), claimed)
    if (sealedAt === null || Math.abs(now() - startedAt) > MAX_CLOCK_ROUND_TRIP) return false
    clockOffset = sealedAt - now()
    return Math.abs(sealedAt - at) > FRESH
  }

  async function exchange(request: Request, id: string, at: number): Promise<SealedReply> {
    const { method, target, token, contentType, patience } = request
    const body = bytesIn(request)
    const content = { method, target, token, contentType, body: body ?? new Uint8Array() }
    const key = await keys.current()
    const { message, expectation } = await sealRequest(content, key, at, id)
    const inHeader = body === null
    const headers = headersOf(request, env, inHeader ? null : 'application/jose')
    if (inHeader) headers['payload'] = message
    const sealed = { url: baseUrl + target, method, headers, body: inHeader ? null : message }
    const reply = await transmit(sealed, patience)
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
}

/** What is to be sealed is made as bytes: a form of the platform cannot be read. */
function bytesIn({ body }: Request): Uint8Array<ArrayBuffer> | null {
  if (body === null || body instanceof Uint8Array) return body
  throw new TypeError('Only bytes can be sealed.')
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
