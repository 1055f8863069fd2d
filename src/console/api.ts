import { signal } from '@preact/signals'

const API = '/console/api/'
/** The server requires a new proof after 10 minutes, and a download cannot ask for one. */
const PROOF_MAX_AGE_MS = 9 * 60_000

const UNREADABLE =
  'The response could not be read. A change may have been saved: check before you repeat it.'
const CUT_OFF =
  'The connection was lost. The action may have stopped or may still be running: check before you repeat it.'
/** A dead connection must not keep old data on the screen. */
const READ_TIMEOUT_MS = 60_000

/** An error response from the server, or status 0 if it could not be reached. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string
  readonly details: { path: string; message: string }[]
  readonly requestId: string

  constructor(status: number, body: Partial<ApiError>) {
    super(body.message ?? 'Could not reach the server. Check your connection and try again.')
    this.name = 'ApiError'
    this.status = status
    this.code = body.code ?? 'unreachable'
    this.details = body.details ?? []
    this.requestId = body.requestId ?? ''
  }
}

/** A value after a JSON round trip: dates become strings. */
export type Json<T> = T extends Date
  ? string
  : T extends (infer Item)[]
    ? Json<Item>[]
    : T extends object
      ? { [Key in keyof T]: Json<T[Key]> }
      : T

/** The result of a service function, as JSON. */
export type ReplyOf<T extends (...args: never[]) => Promise<unknown>> = Json<Awaited<ReturnType<T>>>

/** Asks for a passkey or a code; resolves to false when the operator cancels. */
export const askForProof = signal<(() => Promise<boolean>) | null>(null)
/** Asks the operator to sign in again; resolves to whether the same operator did. */
export const askToSignIn = signal<(() => Promise<boolean>) | null>(null)

export function failure(message: string): ApiError {
  return new ApiError(409, { message })
}

export function read<T>(path: string): Promise<T> {
  return call<T>('GET', path)
}

/** Reads without asking to sign in if the session has ended. */
export function readQuietly<T>(path: string): Promise<T> {
  return request('GET', path, undefined, { mayAsk: false }).then((reply) => readResponse<T>(reply))
}

export function send<T>(path: string, body: unknown = {}): Promise<T> {
  return call<T>('POST', path, body)
}

/** Sends a request whose response reports progress, line by line, before its result. */
export async function sendWithProgress<Progress, T>(
  path: string,
  body: unknown,
  onProgress: (progress: Progress) => void,
  signal?: AbortSignal,
): Promise<T> {
  const response = await request('POST', path, body, signal ? { signal } : {})
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { value, done } = (await reader?.read().catch(() => {
      throw new ApiError(0, { message: CUT_OFF })
    })) ?? { value: undefined, done: true }
    const lines = (rest + (value ?? '')).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const message = JSON.parse(line)
      if (message.failure) throw new ApiError(409, message.failure)
      if ('response' in message) return message.response as T
      onProgress(message.progress as Progress)
    }
    if (done) throw new ApiError(0, { message: CUT_OFF })
  }
}

export function apiAddress(path: string): string {
  return API + path
}

/** Downloads a file; asks for a proof first if the last one is old. A refusal does not replace the page. */
export async function download(path: string) {
  if ((await recentProof()) === null) return
  const link = document.createElement('a')
  link.href = API + path
  link.download = ''
  link.click()
}

/** Opens a file in a new tab; asks for a proof first if the last one is old. */
export async function openInTab(path: string) {
  const proof = await recentProof()
  if (proof === null) return
  // A proof may take so long that the browser no longer counts the click and opens no tab.
  if (proof === 'new' && navigator.userActivation?.isActive === false)
    throw failure('Confirmed. Press the button again to open the file.')
  window.open(API + path, '_blank', 'noopener')
}

/** Returns whether the last proof is recent or a new one was given; null if the operator has cancelled. */
async function recentProof(): Promise<'recent' | 'new' | null> {
  const { provenAt, now } = await read<{ provenAt: string; now: string }>('me')
  const isFresh = Date.parse(now) - Date.parse(provenAt) < PROOF_MAX_AGE_MS
  if (isFresh) return 'recent'
  return (await askForProof.value?.()) ? 'new' : null
}

async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  return readResponse<T>(await request(method, path, body))
}

async function readResponse<T>(reply: Response): Promise<T> {
  const { response } = (await reply.json().catch(() => {
    throw new ApiError(0, { message: UNREADABLE })
  })) as { response: T }
  return response
}

type RequestOptions = { signal?: AbortSignal; mayAsk?: boolean }

/** Asks the operator to sign in again, or for a proof, if the server requires it, then repeats the request. */
async function request(
  method: string,
  path: string,
  body: unknown,
  { signal, mayAsk = true }: RequestOptions = {},
): Promise<Response> {
  const options = signal ? { signal } : {}
  const timeout = method === 'GET' ? { signal: AbortSignal.timeout(READ_TIMEOUT_MS) } : {}
  const response = await fetch(API + path, {
    method,
    ...timeout,
    ...(method === 'GET' ? {} : { body: JSON.stringify(body) }),
    headers: method === 'GET' ? {} : { 'content-type': 'application/json' },
    ...options,
  }).catch(() => {
    throw new ApiError(0, {})
  })
  if (response.ok) return response
  const refusal = new ApiError(response.status, await response.json().catch(() => ({})))
  const isSessionOver = refusal.code === 'unauthenticated' && !path.startsWith('login/')
  if (isSessionOver && mayAsk && (await askToSignIn.value?.()))
    return request(method, path, body, { ...options, mayAsk: false })
  const needsProof = refusal.details.some(({ message }) => message === 'step_up_required')
  if (needsProof && (await askForProof.value?.())) return request(method, path, body, options)
  throw refusal
}
