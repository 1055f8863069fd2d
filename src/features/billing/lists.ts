import { t } from 'elysia'
import { parseLimitOption } from '../../lib/command.ts'
import { closedObject, literalUnion } from '../../platform/http/replies/envelope.ts'
import { after, defineList } from '../../platform/lists/list.ts'
import { findPlanTitle } from './access/access-explanation.ts'
import type { Catalogue } from './access/plan-matching.ts'
import type { PlanLike } from './access/subscription.ts'
import { EVENT_OPTIONS, EventQuery, readEventQuery, toEventFilter } from './actions.ts'
import { EVENT_ORDERS, type EventSearch } from './inbox/event-search.ts'

type Needs = {
  eventSearch: EventSearch
  listPlans: (wanted: string[]) => Promise<Catalogue<PlanLike>>
}

type FoundPage = Awaited<ReturnType<EventSearch['find']>>
type DetailedEvent = Awaited<ReturnType<EventSearch['withDetails']>>[number]
/** Commands list up to a million events, so they read no bodies. */
type ListedEvent = Omit<FoundPage['events'][number], 'id'> & Partial<DetailedEvent>
type EventPage = Omit<FoundPage, 'events'> & { events: ListedEvent[] }

const events = defineList({
  name: 'events',
  summary: 'List billing events, newest first',
  console: 'events',
  query: closedObject({
    ...EventQuery.properties,
    sort: t.Optional(literalUnion(EVENT_ORDERS, { description: 'by time of receipt' })),
    after,
  }),
  isPersonal: true,
  async read({ eventSearch }: Needs, query, { reader }): Promise<EventPage> {
    const filter = toEventFilter(query)
    if (reader === 'command') {
      const { events, ...page } = await eventSearch.find({ ...filter, maxScanned: Infinity })
      return { ...page, events: events.map(({ id: _row, ...event }) => event) }
    }
    const { events, ...page } = await eventSearch.find(filter)
    return { ...page, events: await eventSearch.withDetails(events) }
  },
  rows: ({ events }) => events,
  userIds: ({ appUserId }) => [appUserId],
  async show({ events, ...page }, { listPlans }, readNames) {
    const catalogue = await listPlans([])
    const detailed = events as DetailedEvent[]
    const withPlans = detailed.map((event) => ({ ...event, plan: findPlanTitle(event, catalogue) }))
    return { ...page, events: withPlans, names: await readNames() }
  },
  columns: {
    received: ({ receivedAt }) => receivedAt,
    occurred: ({ eventAt }) => eventAt,
    event_id: ({ eventId }) => eventId,
    type: ({ type }) => type,
    outcome: ({ outcome }) => outcome,
    environment: ({ environment }) => environment,
    store: ({ store }) => store,
    product: ({ productId }) => productId,
    price: ({ price }) => price?.amount,
    currency: ({ price }) => price?.currency,
    app_user_id: ({ appUserId }) => appUserId,
    user: ({ appUserId }, names) => names[appUserId ?? ''],
    duplicates: ({ duplicates }) => duplicates,
    conflicting: ({ conflicting }) => conflicting,
    implausible_timestamps: ({ clockIsOff }) => clockIsOff,
    error: ({ error }) => error,
  },
  command: {
    options: [...EVENT_OPTIONS, ['--limit <count>', 'maximum number of results (default: 50)']],
    read: (_args, options) => ({
      ...readEventQuery(options),
      ...(typeof options['limit'] === 'string' && { limit: parseLimitOption(options['limit']) }),
    }),
    line: ({ receivedAt, type, eventId, appUserId, outcome, duplicates }) => [
      receivedAt,
      type,
      eventId,
      appUserId ?? '-',
      outcome,
      `+${duplicates}`,
    ],
    hasOnlyRows: true,
  },
})

export const billingLists = [events]
