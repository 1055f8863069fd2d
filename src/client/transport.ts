import { ApiError } from './api-error.ts'
import { openReply, sealRequest } from './sealing.ts'
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

export type Send = (request: Request) => Promise<Reply>

export type TransportDeps = {
  baseUrl: string
  env: string
  keys: Pick<ReturnType<typeof createServerKeys>, 'current' | 'renew'>
  transmit: Transmit
  /** ms since 1970. */
  now: () => number
}

type Code = string | undefined

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

  /** Another key or clock of the server is learned once, and the request is sealed again. */
  async function sendSealed(request: Request): Promise<Reply> {
    const reply = await exchange(request)
    if (reply.isGenuine) return reply
    const code = codeOf(reply)
    if (code === 'encryption_unknown_key') await keys.renew()
    else if (code !== 'encryption_stale' || !learnTime(reply.text)) return reply
    return exchange(request)
  }

  async function exchange(request: Request): Promise<Reply> {
    const { method, target, token, contentType, onProgress } = request
    const content = { method, target, token, contentType, body: request.body ?? new Uint8Array() }
    const { message, expectation } = await sealRequest(
      content,
      await keys.current(),
      now() + clockOffset,
    )
    const inHeader = request.body === null
    const headers = headersOf(request, inHeader ? null : 'application/jose')
    if (inHeader) headers['payload'] = message
    const body = inHeader ? null : message
    const reply = await transmit({ url: baseUrl + target, method, headers, body }, onProgress)
    const { status } = reply
    if (!reply.header('content-type')?.startsWith('application/jose')) {
      if (status >= 400) return { ...reply, isGenuine: false }
      const text = 'The reply is not sealed: somebody between the app and the server made it.'
      throw new ApiError({ status, code: 'reply_not_sealed', message: text })
    }
    const opened = await openReply(reply.text, status, expectation)
    const header = (name: string) =>
      name === 'content-type' ? opened.contentType : reply.header(name)
    return { status, text: new TextDecoder().decode(opened.body), header, isGenuine: true }
  }

  function headersOf({ headers }: Request, contentType: string | null) {
    return {
      ...headers,
      env,
      ...(contentType === null ? {} : { 'content-type': contentType }),
    } as Record<string, string>
  }

  function learnTime(text: string): boolean {
    const [time = ''] = /\d{4}-\d\d-\d\dT[\d:.]+Z/.exec(text) ?? []
    const offset = Date.parse(time) - now()
    if (!Number.isFinite(offset)) return false
    clockOffset = offset
    return true
  }
}

function codeOf({ text }: Incoming): Code {
  try {
    return (JSON.parse(text) as { code?: string }).code
  } catch {
    return undefined
  }
}
