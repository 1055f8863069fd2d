import type { Billing } from './event-inbox.ts'
import type { EventFilter, EventSearch } from './event-search.ts'

export type Reprocess = ReturnType<typeof createReprocessing>

/** The maximum number of events per run. */
const MAX_REPROCESSED = 10_000

/** Applies every matching event in the log again, one by one, newest first. */
export function createReprocessing({
  billing,
  eventSearch,
}: {
  billing: Pick<Billing, 'replay'>
  eventSearch: Pick<EventSearch, 'find'>
}) {
  return async (
    filter: EventFilter,
    onProgress: (progress: { done: number; failed: number }) => void,
    signal: AbortSignal,
  ) => {
    let done = 0
    let failed = 0
    for (let after: string | null | undefined; after !== null && done < MAX_REPROCESSED; ) {
      const page = await eventSearch.find({ ...filter, after })
      for (const { eventId } of page.events) {
        if (signal.aborted) return { done, failed, isStopped: true }
        if ((await billing.replay(eventId)) === false) failed++
        done++
        onProgress({ done, failed })
      }
      after = page.next
    }
    return { done, failed, isStopped: false }
  }
}
