import { ApiError } from './api-error.ts'
import type { Deadline, Progress } from './deadline.ts'

/** A request ready to send. `body` is null if there is none. */
type RawRequest = {
  url: string
  method: string
  headers: Record<string, string>
  body: Uint8Array<ArrayBuffer> | FormData | string | null
  onText?: OnText | undefined
}

/** Called with each piece of an event stream as it arrives. */
export type OnText = (text: string) => void

/** A received response. `isStream`: it was an event stream, which has ended. */
export type RawReply = {
  status: number
  text: string
  header: (name: string) => string | null
  isStream?: boolean
}

export type Transmit = (request: RawRequest, deadline: Deadline) => Promise<RawReply>

/** The signature of `fetch` on every platform. */
export type Fetch = (url: string, init?: RequestInit) => Promise<Response>

type Xhr = {
  upload: { onprogress: (event: { loaded: number; total: number }) => void }
  onprogress: () => void
  onload: () => void
  onerror: () => void
  ontimeout: () => void
  status: number
  responseText: string
  open(method: string, url: string): void
  setRequestHeader(name: string, value: string): void
  getResponseHeader(name: string): string | null
  send(body: unknown): void
  abort(): void
}

/** The slowest upload to wait for where progress is not reported: 8 kB a second. */
const MIN_BYTES_PER_MS = 8

/** An event stream read by XMLHttpRequest is ended at this length, because all of it stays in memory. */
const MAX_STREAM_LENGTH = 256 * 1024

/**
 * Sends with the platform's `fetch`, or with XMLHttpRequest where only it can report progress or stream (React Native).
 */
export function createTransmit(fetch?: Fetch): Transmit {
  return async (request, deadline) => {
    throwIfFailed(deadline)
    const { XMLHttpRequest } = globalThis as { XMLHttpRequest?: new () => Xhr }
    const { timeout, onProgress, restart } = deadline
    const needsXhr = onProgress !== undefined || (request.onText && !canFetchStreams())
    const xhr = needsXhr && !fetch && XMLHttpRequest ? new XMLHttpRequest() : null
    if (onProgress) restart(xhr ? timeout : timeout + measureSize(request) / MIN_BYTES_PER_MS)
    const report = (progress: Progress) => {
      restart(timeout)
      onProgress?.(progress)
    }
    const sending = xhr
      ? sendWithProgress(xhr, request, report)
      : sendByFetch(fetch ?? platformFetch, request, onProgress && report)
    deadline.onCancel(sending.cancel)
    const reply = await sending.reply.catch((cause) => {
      throwIfFailed(deadline)
      const message = 'The server cannot be reached.'
      throw new ApiError({ status: 0, code: 'network_error', message, cause })
    })
    throwIfFailed(deadline)
    return reply
  }
}

function throwIfFailed({ failure }: Deadline) {
  const cancellation = failure()
  if (cancellation) throw cancellation
}

/** Called on `globalThis`, which browsers require; looked up at each call. */
const platformFetch: Fetch = (url, init) => globalThis.fetch(url, init)

type Sending = { reply: Promise<RawReply>; cancel: () => void }

/** The app's own `fetch` can report the progress of an upload by `onProgress`. */
function sendByFetch(
  fetch: Fetch,
  outgoing: RawRequest,
  onProgress?: (progress: Progress) => void,
): Sending {
  const { url, method, headers, body, onText } = outgoing
  const controller = new AbortController()
  const { signal } = controller
  const reply = async () => {
    const response = await fetch(url, {
      method,
      headers,
      signal,
      ...(method === 'GET' ? noCacheOptions(headers) : {}),
      ...(body === null ? {} : { body }),
      ...(onProgress ? { onProgress } : {}),
    })
    const { status } = response
    const header = (name: string) => response.headers.get(name)
    if (!onText || !isEventStream(header)) return { status, text: await response.text(), header }
    await readStream(response, onText)
    return { status, text: '', header, isStream: true }
  }
  return { reply: reply(), cancel: () => controller.abort() }
}

/**
 * A cached read would hide a change that `onChange` has just reported. Only browsers need this option everywhere, and
 * permission for the header.
 */
function noCacheOptions(headers: RawRequest['headers']): RequestInit {
  if ('document' in globalThis) return { cache: 'no-cache' }
  return { headers: { ...headers, 'cache-control': 'no-cache' } }
}

function isEventStream(header: RawReply['header']): boolean {
  return header('content-type')?.startsWith('text/event-stream') ?? false
}

/** Whether `fetch` passes on a response as it arrives. */
function canFetchStreams(): boolean {
  return typeof Response === 'function' && 'body' in Response.prototype
}

async function readStream({ body }: Response, onText: OnText) {
  const decoder = new TextDecoder()
  const reader = body?.getReader()
  try {
    for (;;) {
      const { value, done } = (await reader?.read()) ?? { done: true, value: undefined }
      if (done) return
      onText(decoder.decode(value, { stream: true }))
    }
  } catch {
    // The caller connects again in either case.
  }
}

function sendWithProgress(
  xhr: Xhr,
  { url, method, headers, body, onText }: RawRequest,
  onProgress: (progress: Progress) => void,
): Sending {
  const reply = new Promise<RawReply>((resolve, reject) => {
    const header = (name: string) => xhr.getResponseHeader(name)
    let length = 0
    const isStream = () => onText !== undefined && xhr.status === 200 && isEventStream(header)
    const finish = () => resolve({ status: xhr.status, text: '', header, isStream: true })
    xhr.upload.onprogress = ({ loaded, total }) => onProgress({ sent: loaded, total })
    xhr.onprogress = () => {
      if (!isStream()) return
      const text = xhr.responseText
      onText?.(text.slice(length))
      length = text.length
      if (length <= MAX_STREAM_LENGTH) return
      xhr.abort()
      finish()
    }
    xhr.onerror = () => (length > 0 ? finish() : reject(new Error('the connection was lost')))
    // How iOS reports its own time limit.
    xhr.ontimeout = xhr.onerror
    xhr.onload = () =>
      isStream() ? finish() : resolve({ status: xhr.status, text: xhr.responseText, header })
    xhr.open(method, url)
    for (const [name, value] of Object.entries(headers)) xhr.setRequestHeader(name, value)
    xhr.send(body)
  })
  return { reply, cancel: () => xhr.abort() }
}

function measureSize({ body }: RawRequest): number {
  return typeof body === 'string' || body instanceof Uint8Array ? body.length : 0
}
