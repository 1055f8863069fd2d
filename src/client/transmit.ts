import { ApiError } from './api-error.ts'
import type { Patience, Progress } from './patience.ts'

/** One request as it goes over the wire. `body` is null for none. */
type Outgoing = {
  url: string
  method: string
  headers: Record<string, string>
  body: Uint8Array<ArrayBuffer> | FormData | string | null
}

/** One reply as it came. */
export type Incoming = { status: number; text: string; header: (name: string) => string | null }

export type Transmit = (request: Outgoing, patience: Patience) => Promise<Incoming>

/** As every platform has it. */
export type Fetch = (url: string, init?: RequestInit) => Promise<Response>

/** The part of the browser's and React Native's XMLHttpRequest that is used here. */
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

/** Without progress to go by, an upload may take a millisecond more for each so many bytes: 8 KiB a second. */
const SLOWEST_BYTES_A_MS = 8

/**
 * Sends by `fetch`. Without one it sends by the platform's own, and uploads by its XMLHttpRequest where there is
 * one, which alone knows of progress.
 */
export function createTransmit(fetch?: Fetch): Transmit {
  return async (request, patience) => {
    throwIfOver(patience)
    const { XMLHttpRequest } = globalThis as { XMLHttpRequest?: new () => Xhr }
    const { timeout, onProgress, restart } = patience
    const xhr = onProgress && !fetch && XMLHttpRequest ? new XMLHttpRequest() : null
    if (onProgress) restart(xhr ? timeout : timeout + sizeOf(request) / SLOWEST_BYTES_A_MS)
    const sending = xhr
      ? sendCounted(xhr, request, (progress) => {
          restart(timeout)
          onProgress?.(progress)
        })
      : sendByFetch(fetch ?? platformFetch, request)
    patience.onBreak(sending.cancel)
    const reply = await sending.reply.catch((cause) => {
      throwIfOver(patience)
      const message = 'The server cannot be reached.'
      throw new ApiError({ status: 0, code: 'network_error', message, cause })
    })
    throwIfOver(patience)
    return reply
  }
}

function throwIfOver({ failure }: Patience) {
  const over = failure()
  if (over) throw over
}

/** Looked up when it is called, on its own object: browsers ask for that. */
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

function sendCounted(
  xhr: Xhr,
  { url, method, headers, body }: Outgoing,
  onProgress: (progress: Progress) => void,
): Sending {
  const reply = new Promise<Incoming>((resolve, reject) => {
    xhr.upload.onprogress = ({ loaded, total }) => onProgress({ sent: loaded, total })
    xhr.onerror = () => reject(new Error('the connection broke off'))
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
