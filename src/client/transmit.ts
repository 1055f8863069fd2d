import { ApiError } from './api-error.ts'
import type { Deadline, Progress } from './deadline.ts'

/** A request as it is sent. `body` is null without a body. */
type Outgoing = {
  url: string
  method: string
  headers: Record<string, string>
  body: Uint8Array<ArrayBuffer> | FormData | string | null
}

/** A reply as it was received. */
export type Incoming = { status: number; text: string; header: (name: string) => string | null }

export type Transmit = (request: Outgoing, deadline: Deadline) => Promise<Incoming>

/** The signature of `fetch` on every platform. */
export type Fetch = (url: string, init?: RequestInit) => Promise<Response>

/** The part of XMLHttpRequest that is used here. */
type Xhr = {
  upload: { onprogress: (event: { loaded: number; total: number }) => void }
  onload: () => void
  onerror: () => void
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

/**
 * Sends requests with `fetch`. If it is omitted, uses the platform's `fetch`, and for uploads
 * XMLHttpRequest where it exists: only that reports progress.
 */
export function createTransmit(fetch?: Fetch): Transmit {
  return async (request, deadline) => {
    throwIfFailed(deadline)
    const { XMLHttpRequest } = globalThis as { XMLHttpRequest?: new () => Xhr }
    const { timeout, onProgress, restart } = deadline
    const xhr = onProgress && !fetch && XMLHttpRequest ? new XMLHttpRequest() : null
    if (onProgress) restart(xhr ? timeout : timeout + sizeOf(request) / MIN_BYTES_PER_MS)
    const sending = xhr
      ? sendWithProgress(xhr, request, (progress) => {
          restart(timeout)
          onProgress?.(progress)
        })
      : sendByFetch(fetch ?? platformFetch, request)
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

type Sending = { reply: Promise<Incoming>; cancel: () => void }

function sendByFetch(fetch: Fetch, { url, method, headers, body }: Outgoing): Sending {
  const controller = new AbortController()
  const { signal } = controller
  const reply = async () => {
    const response = await fetch(url, {
      method,
      headers,
      signal,
      ...(body === null ? {} : { body }),
    })
    const { status } = response
    const header = (name: string) => response.headers.get(name)
    return { status, text: await response.text(), header }
  }
  return { reply: reply(), cancel: () => controller.abort() }
}

function sendWithProgress(
  xhr: Xhr,
  { url, method, headers, body }: Outgoing,
  onProgress: (progress: Progress) => void,
): Sending {
  const reply = new Promise<Incoming>((resolve, reject) => {
    xhr.upload.onprogress = ({ loaded, total }) => onProgress({ sent: loaded, total })
    xhr.onerror = () => reject(new Error('the connection was lost'))
    xhr.onload = () =>
      resolve({
        status: xhr.status,
        text: xhr.responseText,
        header: (name) => xhr.getResponseHeader(name),
      })
    xhr.open(method, url)
    for (const [name, value] of Object.entries(headers)) xhr.setRequestHeader(name, value)
    xhr.send(body)
  })
  return { reply, cancel: () => xhr.abort() }
}

function sizeOf({ body }: Outgoing): number {
  return typeof body === 'string' || body instanceof Uint8Array ? body.length : 0
}
