/** The result of `work`, or `late()` thrown after `ms`; a later result is dropped. */
export async function withTimeout<T>(work: Promise<T>, ms: number, late: () => Error): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(late()), ms)
  return await Promise.race([work, promise]).finally(() => clearTimeout(timer))
}
