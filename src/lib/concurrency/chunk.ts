/** Splits a list into parts of at most `size` items, in order. */
export function* chunk<T>(items: readonly T[], size: number): Generator<T[]> {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size)
}
