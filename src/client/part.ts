import { clientError } from './api-error.ts'

const LOAD_RETRY_MS = 5_000

/** Loads a part of the client when it is first needed. Throws `network_error` if it cannot be loaded. */
export function createPart<T>(load: () => Promise<T>): () => Promise<T> {
  let loading: Promise<T> | null = null
  return () => {
    loading ??= load().catch((cause) => {
      loading = null
      throw clientError('network_error', 'A part of the client cannot be loaded.', cause)
    })
    return loading
  }
}

type Subscribe<T> = (listener: (value: T) => void) => () => void

/**
 * Subscribes to a part that may not be loaded yet. Retries until it is loaded: an app that starts offline must not miss
 * a change.
 */
export function follow<T>(load: () => Promise<Subscribe<T>>): Subscribe<T> {
  return (listener) => {
    let stop = () => {}
    let isStopped = false
    const start = async () => {
      const subscribe = await load().catch(() => null)
      if (isStopped) return
      if (subscribe) stop = subscribe(listener)
      else setTimeout(start, LOAD_RETRY_MS)
    }
    void start()
    return () => {
      isStopped = true
      stop()
    }
  }
}
