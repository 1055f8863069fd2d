import { withTimeout } from '../../../lib/concurrency/with-timeout.ts'

/** Less than the idle timeout of a connection. */
const MAX_WAIT_MS = 5_000

/**
 * Waits for the removal of files that have no row any more, but not long for a store that hangs. What is not removed now is
 * deleted later as an orphan.
 */
export async function finishRemovals(removals: Promise<void>[]) {
  const late = () => new Error('the removals take too long')
  await withTimeout(Promise.allSettled(removals), MAX_WAIT_MS, late).catch(() => {})
}
