import { parseJson, toObject } from '../lib/text/json.ts'
import { ApiError } from './api-error.ts'
import type { Deadline } from './deadline.ts'
import type { Transmit } from './fetch.ts'
import { newMessageId, openReply, sealRequest } from './sealing.ts'
import { createServerKeys } from './server-keys.ts'
import { contentHeaders, type Reply, type Request, type Send } from './transport.ts'

/** `sealedAt`: when the server sealed it, in ms; null if it did not. */
type SealedReply = Reply & { sealedAt: number | null }

type SealedTransportDeps = {
  baseUrl: string
  /** Any value except `test`. */
  env: string
  /** Thumbprints (RFC 7638) of trusted keys; without them, any key that the server presents is trusted. */
  pinnedKeys: string[] | null
  transmit: Transmit
  /** ms since 1970. */
  now: () => number
}

/** How much the time of a message may differ from the server's clock. */
const FRESHNESS_MS = 300_000
/** The server remembers executed messages for longer than this. */
const RESEND_WINDOW_MS = 60_000
/** A clock reading that took longer is too inaccurate. */
const MAX_CLOCK_ROUND_TRIP_MS = 10_000
/** A public endpoint: its sealed response contains the server's time. */
const CLOCK_PATH = '/api/user/content_version/v1'

/** Sends sealed requests. This module contains the cryptography, so it is loaded only when needed. */
export function createSealedTransport(deps: SealedTransportDeps): Send {
  const { baseUrl, env, pinnedKeys, transmit, now } = deps
  const keys = createServerKeys({ baseUrl, pinnedKeys, transmit, now })
  /** How far the server's clock is ahead of ours, in ms. */
  let clockOffset = 0
  return sendSealed

  /**
   * Retries once with a new key and once with a corrected clock. The plain response that requests this could be forged
   * after the request was executed: every attempt has the same id, and the time must come from a sealed response.
   */
  async function sendSealed(request: Request): Promise<Reply> {
    const id = newMessageId()
    const startedAt = performance.now()
    const handled: unknown[] = []
    for (;;) {
      const at = now() + clockOffset
      const reply = await exchange(request, id, at)
      const code = reply.isGenuine ? undefined : toObject(parseJson(reply.text))['code']
      if (handled.includes(code) || !(await recover(code, reply, at, request.deadline)))
        return reply
      // By now the server may have forgotten the first message, and would execute the request twice.
      if (performance.now() - startedAt > RESEND_WINDOW_MS) return reply
      handled.push(code)
    }
  }

  /** Replaces the key, or corrects the clock, after a refusal of a message sealed at `at`. Returns whether to retry. */
  async function recover(code: unknown, { text }: Reply, at: number, deadline: Deadline) {
    if (code === 'encryption_stale') return syncClock(at, parseTime(text), deadline)
    if (code !== 'encryption_unknown_key') return false
    await keys.renew()
    return true
  }

  /** Reads the server's clock. Returns whether a message sealed at `at` is stale. */
  async function syncClock(at: number, claimed: number, deadline: Deadline): Promise<boolean> {
    const request = { method: 'GET', target: CLOCK_PATH, headers: {}, token: null }
    const clockRequest = {
      ...request,
      contentType: null,
      body: null,
      deadline: { ...deadline, onProgress: undefined },
    }
    const startedAt = now()
    const { sealedAt } = await exchange(clockRequest, newMessageId(), claimed)
    if (sealedAt === null || Math.abs(now() - startedAt) > MAX_CLOCK_ROUND_TRIP_MS) return false
    clockOffset = sealedAt - now()
    return Math.abs(sealedAt - at) > FRESHNESS_MS
  }

  async function exchange(request: Request, id: string, at: number): Promise<SealedReply> {
    const { method, target, token, contentType, onText, deadline } = request
    const body = readBytes(request)
    const content = { method, target, token, contentType, body: body ?? new Uint8Array() }
    const key = await keys.current()
    const { message, expectation } = await sealRequest(content, key, at, id)
    const isInHeader = body === null
    const headers = contentHeaders(request, env, isInHeader ? null : 'application/jose')
    if (isInHeader) headers['payload'] = message
    const url = baseUrl + target
    const sealed = { url, method, headers, body: isInHeader ? null : message, onText }
    const reply = await transmit(sealed, deadline)
    const { status } = reply
    if (reply.isStream) return { ...reply, isGenuine: false, sealedAt: null }
    if (!reply.header('content-type')?.startsWith('application/jose')) {
      if (status >= 400) return { ...reply, isGenuine: false, sealedAt: null }
      const text =
        'The response is not sealed: it comes from an intermediary between the app and the server.'
      throw new ApiError({ status, code: 'reply_not_sealed', message: text })
    }
    const { sealedAt, ...opened } = await openReply(reply.text, status, expectation)
    const header = (name: string) =>
      name === 'content-type' ? opened.contentType : reply.header(name)
    const text = new TextDecoder().decode(opened.body)
    return { status, text, header, isGenuine: true, sealedAt }
  }
}

/** The body must be bytes: the platform's forms cannot be read. */
function readBytes({ body }: Request): Uint8Array<ArrayBuffer> | null {
  if (body === null || body instanceof Uint8Array) return body
  throw new TypeError('Only bytes can be sealed.')
}

/** The time in an error message, in ms; the current time if it contains none. */
function parseTime(text: string): number {
  const [time = ''] = /\d{4}-\d\d-\d\dT[\d:.]+Z/.exec(text) ?? []
  return Date.parse(time) || Date.now()
}
