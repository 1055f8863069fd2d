import type { Billing } from './event-inbox.ts'
import type { EventFilter, EventSearch } from './event-search.ts'

export type ReplayAll = ReturnType<typeof createReplayAll>

/** Replayed in one go. */
const MOST = 10_000

/** Folds again every event of the log that matches, one after the other, the newest first. */
export function createReplayAll({
  billing,
  eventSearch,
}: {
  billing: Pick<Billing, 'replay'>
  eventSearch: Pick<EventSearch, 'find'>
}) {
  return async (
    filter: EventFilter,
    tell: (progress: { done: number; failed: number }) => void,
    signal: AbortSignal,
  ) => {
    let done = 0
    let failed = 0
    for (let after: string | null | undefined; after !== null && done < MOST; ) {
      const page = await eventSearch.find({ ...filter, after })
      for (const { eventId } of page.events) {
        if (signal.aborted) return { done, failed, isStopped: true }
        if ((await billing.replay(eventId)) === false) failed++
        done++
        tell({ done, failed })
      }
      after = page.next
    }
    return { done, failed, isStopped: false }
  }
}
