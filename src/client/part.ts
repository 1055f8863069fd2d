import { ApiError } from './api-error.ts'

/** Loads a part of the client when it is first needed. Throws `network_error` if it cannot be loaded. */
export function createPart<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | null = null
  return () => {
    loading ??= load().catch((cause) => {
      loading = null
      const message = 'A part of the client cannot be loaded.'
      throw new ApiError({ status: 0, code: 'network_error', message, cause })
    })
    return loading
  }
}
