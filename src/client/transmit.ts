import { ApiError } from './api-error.ts'

/** One request as it goes over the wire. `body` is null for none. */
type Outgoing = {
  url: string
  method: string
  headers: Record<string, string>
  body: Uint8Array<ArrayBuffer> | string | null
}

/** One reply as it came. */
export type Incoming = { status: number; text: string; header: (name: string) => string | null }

/** How much of an upload has gone out, in bytes. */
export type Progress = { sent: number; total: number }

export type Transmit = (
  request: Outgoing,
  onProgress?: (progress: Progress) => void,
) => Promise<Incoming>

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
}

/** Sends by `fetch`, or where progress is asked for by XMLHttpRequest, which alone can tell it. */
export function createTransmit(fetch: Fetch): Transmit {
  return async (request, onProgress) => {
    const { XMLHttpRequest } = globalThis as { XMLHttpRequest?: new () => Xhr }
    try {
      if (onProgress && XMLHttpRequest) {
        return await sendCounted(new XMLHttpRequest(), request, onProgress)
      }
      const { url, method, headers, body } = request
      const reply = await fetch(url, { method, headers, ...(body === null ? {} : { body }) })
      const { status } = reply
      return { status, text: await reply.text(), header: (name) => reply.headers.get(name) }
    } catch (cause) {
      const message = 'The server cannot be reached.'
      throw new ApiError({ status: 0, code: 'network_error', message, cause })
    }
  }
}

function sendCounted(
  xhr: Xhr,
  { url, method, headers, body }: Outgoing,
  onProgress: (progress: Progress) => void,
): Promise<Incoming> {
  return new Promise((resolve, reject) => {
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
}
