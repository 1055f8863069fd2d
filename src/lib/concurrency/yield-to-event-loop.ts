/** Resolves in the next turn of the event loop, so that long work lets requests be answered in between. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
