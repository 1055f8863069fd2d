import type { EventFilter, EventSearch } from './inbox/event-search.ts'

/** A replay stops here too. */
const MAX_COUNTED = 10_000
const PAGE_SIZE = 500
/** Bounds the time for a filter that no index covers: each page reads at most 1,000 events. */
const MAX_PAGES = 200

/** How many events a replay of `filter` concerns. `isComplete` is false if more may match. */
export async function countForReplay(
  { find }: Pick<EventSearch, 'find'>,
  filter: EventFilter,
): Promise<{ count: number; isComplete: boolean }> {
  let found = 0
  let after: string | undefined
  for (let page = 0; page < MAX_PAGES && found < MAX_COUNTED; page++) {
    const { events, next } = await find({ ...filter, after, limit: PAGE_SIZE })
    found += events.length
    if (next === null) return { count: found, isComplete: true }
    after = next
  }
  return { count: Math.min(found, MAX_COUNTED), isComplete: false }
}
