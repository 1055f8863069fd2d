/** Returns the result of `work`. After `ms` it throws `late()` instead, and ignores the result. */
export async function withTimeout<T>(work: Promise<T>, ms: number, late: () => Error): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(late()), ms)
  return await Promise.race([work, promise]).finally(() => clearTimeout(timer))
}
