import { Elysia, t } from 'elysia'
import type { EventFilter, EventSearch } from '../../features/billing/inbox/event-search.ts'
import { allow, CONSOLE_API } from '../../platform/http/console-guard.ts'
import { closedObject, data, oneOf } from '../../platform/http/envelope.ts'

type EventCounterDeps = { eventSearch: Pick<EventSearch, 'find'> }

/** A replay stops here too. */
const MAX_COUNTED = 10_000
const PAGE_SIZE = 500
/** Bounds the time for a filter that no index covers: each page reads at most 1,000 events. */
const MAX_PAGES = 200

const flag = t.Optional(t.Literal('true'))
const EventFilterQuery = closedObject({
  type: t.Optional(t.String({ maxLength: 255 })),
  outcome: t.Optional(oneOf(['applied', 'ignored', 'failed'], { description: 'the outcome' })),
  environment: t.Optional(oneOf(['production', 'sandbox'], { description: 'the environment' })),
  user: t.Optional(t.String({ maxLength: 255 })),
  conflicting: flag,
  clockIsOff: flag,
})

/** Counts billing events, so that the console can say how many a replay concerns. */
export function eventCountAdmin({ eventSearch }: EventCounterDeps) {
  return new Elysia({ name: 'event-count-admin', prefix: CONSOLE_API }).get(
    '/event-count',
    async ({ query: { conflicting, clockIsOff, ...filter } }) =>
      data(
        await count({
          ...filter,
          ...(conflicting && { conflicting: true }),
          ...(clockIsOff && { clockIsOff: true }),
        }),
      ),
    { query: EventFilterQuery, ...allow('reader') },
  )

  /** `isComplete` is false if more events may match. */
  async function count(filter: EventFilter): Promise<{ count: number; isComplete: boolean }> {
    let found = 0
    let after: string | undefined
    for (let page = 0; page < MAX_PAGES && found < MAX_COUNTED; page++) {
      const { events, next } = await eventSearch.find({ ...filter, after, limit: PAGE_SIZE })
      found += events.length
      if (next === null) return { count: found, isComplete: true }
      after = next
    }
    return { count: Math.min(found, MAX_COUNTED), isComplete: false }
  }
}
