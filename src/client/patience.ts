import { ApiError } from './api-error.ts'
import type { CallOptions } from './shared-types.ts'

/** How much of an upload has gone out, in bytes. */
export type Progress = { sent: number; total: number }

/** How long a call may go on, and what breaks it off. */
export type Patience = {
  /** Milliseconds for the whole call; of an upload, without any progress. */
  timeout: number
  /** Why the call was broken off; null while it goes on. */
  failure: () => ApiError | null
  /** `cancel` ends the request that is under way. */
  onBreak: (cancel: () => void) => void
  /** Gives the call `ms` from now. */
  restart: (ms: number) => void
  /** Set for an upload: told as the bytes go out. */
  onProgress?: ((progress: Progress) => void) | undefined
}

/** Does the work of one call within the caller's options. */
export type Patiently = <T>(
  options: CallOptions | undefined,
  work: (patience: Patience) => Promise<T>,
) => Promise<T>

/** What timers can wait for, in ms: they fire at once for more. */
const LONGEST_TIMER = 2 ** 31 - 1
/** What a call gets where it says nothing else, in ms. */
export const DEFAULT_TIMEOUT = 30_000

/**
 * Does the `work` of one call. When its caller or its time ends it, the call fails at once, whatever it
 * waits for: a request, a pause before the next try, a refresh or a storage. Always fails with an ApiError.
 */
export function withPatience<T>(
  { signal, timeout }: { signal?: AbortSignal | undefined; timeout: number },
  work: (patience: Patience) => Promise<T>,
): Promise<T> {
  if (!(timeout > 0)) {
    return Promise.reject(new TypeError('timeout must be milliseconds above 0, or Infinity.'))
  }
  return new Promise((resolve, reject) => {
    let timer: ReturnType<typeof setTimeout> | undefined
    let failure: ApiError | null = null
    let cancelRequest = () => {}
    const finish = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
    }
    const breakOff = (code: string, message: string) => {
      failure = new ApiError({ status: 0, code, message })
      finish()
      reject(failure)
      cancelRequest()
    }
    const abort = () => breakOff('aborted', 'The call was broken off.')
    const restart = (ms: number) => {
      clearTimeout(timer)
      if (failure || ms > LONGEST_TIMER) return
      timer = setTimeout(() => breakOff('timeout', 'The server did not answer in time.'), ms)
    }
    if (signal?.aborted) return abort()
    signal?.addEventListener('abort', abort)
    restart(timeout)
    const onBreak = (cancel: () => void) => {
      cancelRequest = cancel
    }
    work({ timeout, failure: () => failure, onBreak, restart })
      .finally(finish)
      .then(resolve, (error) => reject(asApiError(error)))
  })
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  return new ApiError({ status: 0, code: 'unexpected', message: String(error), cause: error })
}
