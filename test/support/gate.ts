/** Holds work back: while the gate is closed, `pass` waits until `open`. */
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

  /** Lets new work pass; waiting work keeps waiting, like the work of a process that has died. */
  function leaveOpen() {
    held = null
  }

  function open() {
    held = null
    release()
  }
}
