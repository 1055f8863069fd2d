type Lifetimes = { successMs: number; failureMs: number }

/** Remembers the outcome of the last write, so that readiness rarely needs a probe. `isFailure`: of the storage itself. */
export function createLastOutcome(
  { successMs, failureMs }: Lifetimes,
  isFailure: (error: unknown) => boolean,
) {
  let last: { at: number; error: unknown } | null = null
  let probing: Promise<unknown> | null = null
  return { observe, check }

  async function observe<T>(work: Promise<T>): Promise<T> {
    try {
      const value = await work
      last = { at: performance.now(), error: null }
      return value
    } catch (error) {
      if (isFailure(error)) last = { at: performance.now(), error }
      throw error
    }
  }

  /** Throws the last attempt's error; after its lifetime, the error of `probe`. */
  async function check(probe: () => Promise<unknown>): Promise<void> {
    const age = last === null ? Number.POSITIVE_INFINITY : performance.now() - last.at
    if (age > (last?.error ? failureMs : successMs)) {
      probing ??= observe(probe()).finally(() => {
        probing = null
      })
      await probing
    } else if (last?.error) throw last.error
  }
}
