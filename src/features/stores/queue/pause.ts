export type Pause = ReturnType<typeof createPause>

/** A period of `ms` from now during which a queue claims nothing, for example because its provider limits requests. */
export function createPause(ms: number, now: () => Date) {
  const until = now().getTime() + ms
  return { isInForce }

  /** A pause that is longer than it was meant to be began while the clock was ahead. */
  function isInForce(): boolean {
    const left = until - now().getTime()
    return left > 0 && left <= ms
  }
}
