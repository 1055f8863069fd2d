import type { Deadline, Progress } from './deadline.ts'
import {
  type Fetch,
  type OnText,
  type RawReply,
  type RawRequest,
  type Sending,
  sendByFetch,
} from './fetch.ts'

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

/** Sends with `fetch`, or with XMLHttpRequest where only it can report progress or stream (React Native). */
export function sendStreaming(
  fetch: Fetch | undefined,
  request: RawRequest,
  { timeout, onProgress, restart }: Deadline,
): Sending {
  const needsXhr = onProgress !== undefined || !canFetchStreams()
  const usesXhr = needsXhr && !fetch && 'XMLHttpRequest' in globalThis
  if (onProgress) restart(usesXhr ? timeout : timeout + measureSize(request) / MIN_BYTES_PER_MS)
  const report = (progress: Progress) => {
    restart(timeout)
    onProgress?.(progress)
  }
  if (usesXhr) return sendByXhr(request, report)
  const read = (response: Response) => readResponse(response, request.onText)
  // The app's own `fetch` can report the progress of an upload.
  return sendByFetch(fetch, request, read, onProgress ? { onProgress: report } : {})
}

async function readResponse(response: Response, onText?: OnText): Promise<string | null> {
  if (!onText || !isEventStream((name) => response.headers.get(name))) return response.text()
  await readStream(response, onText)
  return null
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
    // The caller reconnects in either case.
  }
}

/** Sends with XMLHttpRequest, which reports the progress of an upload and, in React Native, streams. */
function sendByXhr(
  { url, method, headers, body, onText }: RawRequest,
  onProgress: (progress: Progress) => void,
): Sending {
  const { XMLHttpRequest } = globalThis as unknown as { XMLHttpRequest: new () => Xhr }
  const xhr = new XMLHttpRequest()
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
    // iOS reports its own time limit as a timeout.
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
