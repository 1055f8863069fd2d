import { ApiError } from './api-error.ts'

/** One request as it goes over the wire. `body` is null for none. */
type Outgoing = {
  url: string
  method: string
  headers: Record<string, string>
  body: Uint8Array<ArrayBuffer> | FormData | string | null
}

/** One reply as it came. */
export type Incoming = { status: number; text: string; header: (name: string) => string | null }

/** How much of an upload has gone out, in bytes. */
export type Progress = { sent: number; total: number }

/** How long a request may take, and what breaks it off. */
export type Patience = {
  signal?: AbortSignal | undefined
  /** Milliseconds for the whole request; of an upload without any progress. */
  timeout: number
  /** Set for an upload: told as the bytes go out. */
  onProgress?: ((progress: Progress) => void) | undefined
}

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

/** Sends by `fetch`, or for uploads by XMLHttpRequest where there is one, which alone knows of progress. */
export function createTransmit(fetch: Fetch): Transmit {
  return (request, { signal, timeout, onProgress }) => {
    const { XMLHttpRequest } = globalThis as { XMLHttpRequest?: new () => Xhr }
    if (!onProgress) return withinPatience(timeout, signal, () => sendByFetch(fetch, request))
    if (!XMLHttpRequest) {
      const longest = timeout + sizeOf(request) / SLOWEST_BYTES_A_MS
      return withinPatience(longest, signal, () => sendByFetch(fetch, request))
    }
    return withinPatience(timeout, signal, (restart) =>
      sendCounted(new XMLHttpRequest(), request, (progress) => {
        restart()
        onProgress(progress)
      }),
    )
  }
}

/** Breaks off what takes longer than `ms`, counted anew at each `restart`, or than the caller wants. */
function withinPatience(
  ms: number,
  signal: AbortSignal | undefined,
  start: (restart: () => void) => Sending,
): Promise<Incoming> {
  return new Promise((resolve, reject) => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const finish = (settle: () => void) => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', stop)
      settle()
    }
    const stop = () => cancel(failure('aborted', 'The call was broken off.'))
    const restart = () => {
      clearTimeout(timer)
      const late = () => cancel(failure('timeout', 'The server did not answer in time.'))
      timer = setTimeout(late, ms)
    }
    const cancel = (error: ApiError) => {
      sending.cancel()
      finish(() => reject(error))
    }
    if (signal?.aborted) return reject(failure('aborted', 'The call was broken off.'))
    signal?.addEventListener('abort', stop)
    const sending = start(restart)
    restart()
    sending.reply.then(
      (reply) => finish(() => resolve(reply)),
      (cause) =>
        finish(() => reject(failure('network_error', 'The server cannot be reached.', cause))),
    )
  })
}

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

function failure(code: string, message: string, cause?: unknown): ApiError {
  return new ApiError({ status: 0, code, message, cause })
}
