import { withTimeout } from '../../../lib/concurrency/with-timeout.ts'

/** Less than the idle timeout of a connection. */
const MAX_WAIT_MS = 5_000

/** Waits only briefly, because a store may hang; remaining files are deleted later as orphans. */
export async function finishRemovals(removals: Promise<void>[]) {
  const late = () => new Error('the removals take too long')
  await withTimeout(Promise.allSettled(removals), MAX_WAIT_MS, late).catch(() => {})
}
