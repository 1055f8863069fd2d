/** Holds work back: what passes while it is closed waits until `open`. */
export function createGate() {
  let held: Promise<void> | null = null
  let release = () => {}
  return { pass, close, leaveOpen, open, held: () => held }

  /** Rejects when the signal aborts. */
  async function pass(signal: AbortSignal) {
    const { promise, reject } = Promise.withResolvers<never>()
    signal.addEventListener('abort', () => reject(signal.reason))
    await Promise.race([held, promise])
  }

  function close() {
    const { promise, resolve } = Promise.withResolvers<void>()
    held = promise
    release = resolve
  }

  /** From now on work passes; what waits goes on waiting, as that of a process that has died. */
  function leaveOpen() {
    held = null
  }

  function open() {
    held = null
    release()
  }
}
