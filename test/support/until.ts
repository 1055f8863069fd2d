const DEADLINE_MS = 10_000
const POLL_MS = 5

/** Tests may replace it. */
const now = performance.now.bind(performance)

type Falsy = false | 0 | '' | null | undefined

/**
 * Waits for the first truthy value of `condition` and returns it. Throws with `message`, which says what is wrong,
 * after the deadline.
 */
export async function until<T>(
  condition: () => T | Promise<T>,
  message: string,
  { deadlineMs = DEADLINE_MS, pause = (): Promise<unknown> => simulateDelay(POLL_MS) } = {},
): Promise<Exclude<T, Falsy>> {
  const start = now()
  for (;;) {
    const value = await condition()
    if (value) return value as Exclude<T, Falsy>
    if (now() - start > deadlineMs) throw new Error(message)
    await pause()
  }
}

/** Resolves once every promise that can settle without input, output or timers has settled. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}

/**
 * A delay that is part of what a test simulates: a slow peer, a crash at some moment, an idle connection. To wait for
 * something, use `until`.
 */
export function simulateDelay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
