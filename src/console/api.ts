import { signal } from '@preact/signals'

const API = '/console/api/'

/** What the server answered in the place of what was asked for. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string
  readonly details: { path: string; message: string }[]
  readonly requestId: string

  constructor(status: number, body: Partial<ApiError>) {
    super(body.message ?? 'The server cannot be reached. Check the connection and try again.')
    this.name = 'ApiError'
    this.status = status
    this.code = body.code ?? 'unreachable'
    this.details = body.details ?? []
    this.requestId = body.requestId ?? ''
  }
}

/** A value as it is after JSON: times are text. */
export type Json<T> = T extends Date
  ? string
  : T extends (infer Item)[]
    ? Json<Item>[]
    : T extends object
      ? { [Key in keyof T]: Json<T[Key]> }
      : T

/** Where somebody is asked to show a passkey or a code; resolves to false when they would rather not. */
export const askForProof = signal<(() => Promise<boolean>) | null>(null)
/** Grows when the session has ended, so that the door is shown. */
export const sessionEnded = signal(0)

export function read<T>(path: string): Promise<T> {
  return call<T>('GET', path)
}

export function send<T>(path: string, body: unknown = {}): Promise<T> {
  return call<T>('POST', path, body)
}

/** Sends what takes long: `tell` is called with how far it is. */
export async function sendLong<Progress, T>(
  path: string,
  body: unknown,
  tell: (progress: Progress) => void,
  signal?: AbortSignal,
): Promise<T> {
  const response = await fetched('POST', path, body, signal)
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { value, done } = (await reader?.read()) ?? { value: undefined, done: true }
    const lines = (rest + (value ?? '')).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const said = JSON.parse(line)
      if (said.failure) throw new ApiError(409, said.failure)
      if ('response' in said) return said.response as T
      tell(said.progress as Progress)
    }
    if (done) throw new ApiError(0, {})
  }
}

/** Opens what is downloaded, once it is certain who asks. */
export async function download(path: string) {
  if (!(await prove())) return
  location.assign(API + path)
}

/** Opens what is read on a page of its own, once it is certain who asks. */
export async function openPage(path: string) {
  if (!(await prove())) return
  window.open(API + path, '_blank', 'noopener')
}

/** Whether a passkey or a code was shown lately, or is now. */
async function prove(): Promise<boolean> {
  const { provenAt, now } = await read<{ provenAt: string; now: string }>('me')
  const isFresh = Date.parse(now) - Date.parse(provenAt) < 9 * 60_000
  return isFresh || ((await askForProof.value?.()) ?? false)
}

async function call<T>(method: string, path: string, body?: unknown): Promise<T> {
  const response = await fetched(method, path, body)
  return ((await response.json()) as { response: T }).response
}

async function fetched(
  method: string,
  path: string,
  body: unknown,
  signal?: AbortSignal,
): Promise<Response> {
  const response = await fetch(API + path, {
    method,
    ...(method === 'GET' ? {} : { body: JSON.stringify(body) }),
    headers: method === 'GET' ? {} : { 'content-type': 'application/json' },
    ...(signal ? { signal } : {}),
  }).catch(() => {
    throw new ApiError(0, {})
  })
  if (response.ok) return response
  const failure = new ApiError(response.status, await response.json().catch(() => ({})))
  if (failure.status === 401 && !path.startsWith('door/')) sessionEnded.value++
  const needsProof = failure.details.some(({ message }) => message === 'step_up_required')
  if (needsProof && (await askForProof.value?.())) return fetched(method, path, body, signal)
  throw failure
}
