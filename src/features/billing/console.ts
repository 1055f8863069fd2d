import { Elysia, t } from 'elysia'
import { restoreDots } from '../../lib/text/path-segment.ts'
import { allow, CONSOLE_API } from '../../platform/http/console-guard.ts'
import { closedObject, data, literalUnion } from '../../platform/http/replies/envelope.ts'
import { planTitle } from './access/access-explanation.ts'
import type { UnmatchedProduct } from './access/offers.ts'
import type { Catalogue } from './access/plan-matching.ts'
import type { PlanLike } from './access/subscription.ts'
import type { Timeline } from './access/timeline.ts'
import { EventQuery, toEventFilter } from './actions.ts'
import { ENVIRONMENTS } from './environment.ts'
import type { EventFolding } from './inbox/event-folding.ts'
import type { EventSearch } from './inbox/event-search.ts'
import { NO_PROVIDER_KEY, type Reconcile } from './provider/reconcile.ts'
import { parsePurchaseKey } from './purchases/purchase-key.ts'

type BillingConsoleDeps = {
  eventFolding: Pick<EventFolding, 'countMatching'>
  eventSearch: EventSearch
  timeline: Timeline
  reconcile: Reconcile | null
  listUnmatched: () => Promise<UnmatchedProduct[]>
  storeSupport: () => StoreSupport
  listPlans: (wanted: string[]) => Promise<Catalogue<PlanLike>>
  /** The user with this app user id, as the console shows it; null for none. */
  findUser: (appUserId: string) => Promise<unknown>
}

/** For each store, why its purchases cannot be refreshed; null if they can. */
export type StoreSupport = {
  refreshFromAppStore: string | null
  refreshFromGooglePlay: string | null
}

/** Why each action is unavailable, or null if it is available; and what plans there are. */
export type SupportDetails = StoreSupport & {
  refresh: string | null
  entitlements: string[]
  plans: string[]
  /** The plans' names, such as `Pro, monthly`, by code. */
  planNames: Record<string, string>
}

const IdParam = closedObject({ id: t.String({ maxLength: 300 }) })
const KeyQuery = closedObject({ key: t.String({ maxLength: 1000 }) })
const EnvironmentQuery = closedObject({
  environment: t.Optional(
    literalUnion(ENVIRONMENTS, { description: 'production or test purchases' }),
  ),
})

/** Console routes for a billing event and the purchases of a user. */
export function billingConsole(deps: BillingConsoleDeps) {
  const { eventFolding, eventSearch, timeline, reconcile, findUser } = deps
  const { storeSupport, listPlans, listUnmatched } = deps
  return new Elysia({ name: 'events-console', prefix: CONSOLE_API })
    .get(
      '/event-count',
      async ({ query }) => data(await eventFolding.countMatching(toEventFilter(query))),
      {
        query: EventQuery,
        ...allow('reader'),
      },
    )
    .get(
      '/events/:id',
      async ({ params }) => {
        // Anyone with the signed transaction could submit it as their own purchase.
        const { signed: _signed, ...event } = await eventSearch.show(restoreDots(params.id))
        const access = await timeline.explainForEvent(event)
        const user = event.appUserId === null ? null : await findUser(event.appUserId)
        const { lineKey } = event
        const purchase = lineKey === null ? null : parsePurchaseKey(lineKey).transactionId
        const history = lineKey === null ? null : await timeline.readHistory(lineKey)
        // Events older than the history are shown without their changes.
        const shown = history?.events.find(({ eventId }) => eventId === event.eventId)
        const { price = null, changes = null } = shown ?? {}
        return data({ ...event, purchase, price, changes, access, user })
      },
      { params: IdParam, ...allow('reader') },
    )
    .get('/purchase-history', async ({ query }) => data(await timeline.readHistory(query.key)), {
      query: KeyQuery,
      ...allow('reader'),
    })
    .get(
      '/billing/unmatched',
      async () => data({ products: await listUnmatched() }),
      allow('reader'),
    )
    .get('/billing/support', async () => data(await readSupportDetails()), allow('reader'))
    .get(
      '/people/:id/timeline',
      async ({ params, query }) =>
        data(await timeline.read(restoreDots(params.id), query.environment ?? 'production')),
      { params: IdParam, query: EnvironmentQuery, ...allow('reader') },
    )

  async function readSupportDetails(): Promise<SupportDetails> {
    const { plans, archived } = await listPlans([])
    const ids = plans.flatMap(({ code, entitlementIds }) => entitlementIds ?? [code])
    return {
      refresh: reconcile === null ? NO_PROVIDER_KEY : null,
      ...storeSupport(),
      plans: [...plans, ...archived].map(({ code }) => code).filter((code) => code !== 'free'),
      planNames: Object.fromEntries(
        [...archived, ...plans].map((plan) => [plan.code, planTitle(plan)]),
      ),
      entitlements: [...new Set(ids)].filter((id) => id !== 'free').toSorted(),
    }
  }
}
