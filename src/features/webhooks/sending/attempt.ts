import { unseal } from '../../../lib/crypto/seal.ts'
import { tryTo } from '../../../lib/errors.ts'
import { createLruMap } from '../../../lib/lru-map.ts'
import { listFormerSecrets } from '../endpoints.ts'
import { toBody } from '../events.ts'
import type { WebhooksDb } from '../schema.ts'
import { firstReachable } from './reachable.ts'
import { parseRetryAfter } from './schedule.ts'
import { signatureHeaders } from './signature.ts'
import { type Target, TargetRefusal, type Targets, UnknownHost } from './target.ts'

type Row<Name extends keyof WebhooksDb['tables']> = WebhooksDb['tables'][Name]['$inferSelect']

export type Delivery = {
  id: string
  attempts: number
  endpoint: Row<'webhookEndpoints'>
  message: Row<'webhookMessages'>
}

/** For metrics. */
export const OUTCOMES = [
  'delivered',
  'refused',
  'redirected',
  'gone',
  'timeout',
  'unreachable',
  'blocked',
] as const

type Outcome = (typeof OUTCOMES)[number]

/** `fault` is null after a success; `status` is null if there was no response. */
export type AttemptResult = {
  at: Date
  duration: number
  outcome: Outcome
  status: number | null
  fault: string | null
  reply: string
  retryAfterMs: number | null
}

export type Attempt = (delivery: Delivery, stopping: AbortSignal) => Promise<AttemptResult>

type AttemptDeps = {
  targets: Targets
  sealKey: Uint8Array
  now: () => Date
  /** For the whole attempt: name resolution, connection, headers and body; changed only by tests. */
  timeoutMs?: number | undefined
  /** Certificate authorities; set only by tests. */
  ca?: string | undefined
}

type Request = { body: string; headers: object; signal: AbortSignal }
type Reply = { status?: number | undefined; text?: string; retryAfter?: string | null }

export const TIMEOUT_MS = 10_000
const MAX_REPLY_BYTES = 64 * 1024
const NOT_CONNECTED = /^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL)$/
/** The request was not read: no connection was made, or a kept-alive one was closed. */
const NOT_SENT = new RegExp(`${NOT_CONNECTED.source}|^(ECONNRESET|EPIPE|ConnectionClosed)$`)
const MAX_ADDRESSES = 200
const CERTIFICATE_ERROR = /CERT|TLS|SSL|SELF_SIGNED|VERIFY/

/** Sends a message once. Never throws: the result describes the failure. */
export function createAttempt(deps: AttemptDeps): Attempt {
  const { targets, sealKey, now, timeoutMs = TIMEOUT_MS, ca } = deps
  const hasReplied = createLruMap<string, boolean>(MAX_ADDRESSES)
  return async ({ endpoint, message }, stopping) => {
    const at = now()
    const startedAt = performance.now()
    const end = (
      outcome: Outcome,
      fault: string | null,
      { status, text = '', retryAfter = null }: Reply = {},
    ): AttemptResult => ({
      at,
      duration: Math.round(performance.now() - startedAt),
      outcome,
      status: status ?? null,
      fault,
      reply: text,
      retryAfterMs: parseRetryAfter(retryAfter, now()),
    })
    const secrets = listSecrets(endpoint, at)
    if (secrets.length === 0)
      return end('blocked', 'The signing secret cannot be read. Rotate the secret.')
    const body = toBody(message)
    const headers = signatureHeaders({ id: message.id, body, at, secrets })
    const timeout = AbortSignal.timeout(timeoutMs)
    const signal = AbortSignal.any([stopping, timeout])
    let status: number | undefined
    try {
      const target = await unlessAborted(targets.locate(endpoint.url), signal)
      const response = await connect(target, { body, headers, signal })
      status = response.status
      const reply = { status, text: await readBeginning(response) }
      const retryAfter = response.headers.get('retry-after')
      return end(...classifyReply(status), { ...reply, retryAfter })
    } catch (error) {
      if (timeout.aborted) {
        const seconds = timeoutMs / 1000
        return end('timeout', `No complete response within ${seconds} seconds.`, { status })
      }
      return end(...describeError(error, endpoint.url), { status })
    }
  }

  /** The current secret first, then the previous ones that are valid. A secret whose seal key is lost is left out. */
  function listSecrets(endpoint: Delivery['endpoint'], at: Date): string[] {
    return [endpoint.secret, ...listFormerSecrets(endpoint, at)].flatMap(
      (one) => tryTo(() => unseal(sealKey, one)) ?? [],
    )
  }

  /**
   * Prefers an address that has responded, probably on its open connection. If the receiver closes that connection, it
   * has not read the request, which is sent again on a new one.
   */
  async function connect({ urls, ...target }: Target, request: Request): Promise<Response> {
    const known = urls.find((url) => hasReplied.get(url))
    if (known !== undefined) {
      try {
        return await send(known, target, request, true)
      } catch (error) {
        hasReplied.set(known, false)
        if (!NOT_SENT.test(readCode(error))) throw error
      }
    }
    const url = await firstReachable(urls, request.signal)
    const response = await send(url, target, request, false)
    hasReplied.set(url, true)
    return response
  }

  /** The URL names the checked address; the certificate and the Host header are the endpoint's. */
  function send(
    url: string,
    { host, serverName }: Omit<Target, 'urls'>,
    { body, headers, signal }: Request,
    keepalive: boolean,
  ): Promise<Response> {
    return fetch(url, {
      method: 'POST',
      body,
      headers: {
        ...headers,
        host,
        'content-type': 'application/json',
        'user-agent': 'Homeport',
        'accept-encoding': 'identity',
      },
      redirect: 'manual',
      decompress: false,
      proxy: false,
      keepalive,
      tls: { ...(serverName === null ? {} : { serverName }), ...(ca ? { ca } : {}) },
      signal,
    })
  }
}

/** Resolving a name cannot be aborted, so its late result is ignored. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  return await Promise.race([work, promise])
}

function classifyReply(status: number): [outcome: Outcome, fault: string | null] {
  if (status >= 200 && status < 300) return ['delivered', null]
  if (status === 410) return ['gone', 'The endpoint returned 410 Gone, so it was disabled.']
  if (status >= 300 && status < 400)
    return ['redirected', `The endpoint returned ${status}. Redirects are not followed.`]
  return ['refused', `The endpoint returned ${status}.`]
}

function readCode(error: unknown): string {
  return String((error as { code?: unknown }).code ?? (error as Error).name)
}

function describeError(error: unknown, url: string): [outcome: Outcome, fault: string] {
  const { host } = new URL(url)
  if (error instanceof TargetRefusal) return ['blocked', `${error.message}.`]
  if (error instanceof UnknownHost) return ['unreachable', `${error.message}.`]
  const code = readCode(error)
  if (CERTIFICATE_ERROR.test(code))
    return ['unreachable', `The certificate is not valid for ${host} (${code}).`]
  if (NOT_CONNECTED.test(code)) return ['unreachable', `Could not connect to ${host} (${code}).`]
  return ['unreachable', `The connection to ${host} failed (${code}).`]
}

/** The first 64 KiB of a body as text that both databases can store. */
async function readBeginning({ body }: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  // Leaving the loop cancels the rest of the body.
  for await (const chunk of body ?? []) {
    chunks.push(chunk)
    size += chunk.byteLength
    if (size >= MAX_REPLY_BYTES) break
  }
  const text = Buffer.concat(chunks).subarray(0, MAX_REPLY_BYTES).toString('utf8')
  return text.replaceAll('\0', '\uFFFD')
}
