import { ApiError, clientError } from './api-error.ts'
import type { CallOptions } from './shared-types.ts'

/** How much of an upload has been sent, in bytes. */
export type Progress = { sent: number; total: number }

/** The timeout and cancellation of one call. */
export type Deadline = {
  /** Milliseconds for the whole call; for an upload, the longest time without progress. */
  timeout: number
  /** Why the call was cancelled; null while it runs. */
  failure: () => ApiError | null
  /** Registers the function that cancels the current request. */
  onCancel: (cancel: () => void) => void
  /** Restarts the timer: the call has `ms` from now. */
  restart: (ms: number) => void
  /** Called during an upload as bytes are sent. */
  onProgress?: ((progress: Progress) => void) | undefined
}

/** Runs one call with the caller's options. */
export type RunCall = <T>(
  options: CallOptions | undefined,
  work: (deadline: Deadline) => Promise<T>,
) => Promise<T>

/** The longest timer delay in ms: with a longer one, a timer fires immediately. */
const MAX_TIMER_MS = 2 ** 31 - 1
export const DEFAULT_TIMEOUT_MS = 30_000

/**
 * Fails immediately on cancellation or timeout, even while waiting for a retry, a refresh or the storage. Rejects with
 * an ApiError, or a TypeError if `timeout` is invalid.
 */
export function withDeadline<T>(
  { signal, timeout }: { signal?: AbortSignal | undefined; timeout: number },
  work: (deadline: Deadline) => Promise<T>,
): Promise<T> {
  if (!(timeout > 0)) {
    return Promise.reject(
      new TypeError('timeout must be a number of milliseconds above 0, or Infinity.'),
    )
  }
  return new Promise((resolve, reject) => {
    let timer: ReturnType<typeof setTimeout> | undefined
    let failure: ApiError | null = null
    let cancelRequest = () => {}
    const finish = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
    }
    const fail = (code: string, message: string) => {
      failure = clientError(code, message)
      finish()
      reject(failure)
      cancelRequest()
    }
    const abort = () => fail('aborted', 'The call was cancelled.')
    const restart = (ms: number) => {
      clearTimeout(timer)
      if (failure || ms > MAX_TIMER_MS) return
      timer = setTimeout(() => fail('timeout', 'The server did not answer in time.'), ms)
    }
    if (signal?.aborted) return abort()
    signal?.addEventListener('abort', abort)
    restart(timeout)
    const onCancel = (cancel: () => void) => {
      cancelRequest = cancel
    }
    work({ timeout, failure: () => failure, onCancel, restart })
      .finally(finish)
      .then(resolve, (error) => reject(asApiError(error)))
  })
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

function asApiError(error: unknown): ApiError {
  return error instanceof ApiError ? error : clientError('unexpected', String(error), error)
}
