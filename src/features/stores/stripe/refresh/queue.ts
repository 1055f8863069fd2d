import { createRefreshQueue } from '../../queue/refresh-queue.ts'
import { StripeApiError } from '../api/api-error.ts'
import type { StripeContext } from '../context.ts'
import type { StripeObject } from './objects.ts'
import type { RefreshObject } from './refresh.ts'

export type StripeQueue = ReturnType<typeof createStripeQueue>

/** Stripe allows 25 requests a second to an endpoint, and one object may need several. */
const REQUESTS_PER_SECOND = 10
const LEASE_POLL_MS = 100

export function createStripeQueue(deps: StripeContext & { refresh: RefreshObject }) {
  const { objects, refresh, requestsPerSecond = REQUESTS_PER_SECOND } = deps
  const { stripeObjects } = deps.db.tables
  const queue = createRefreshQueue<typeof stripeObjects, StripeObject>({
    ...deps,
    name: 'queue of Stripe',
    store: 'Stripe',
    table: stripeObjects,
    id: stripeObjects.id,
    requestsPerSecond,
    findDue: objects.findDue,
    load: objects.load,
    toKey: ({ environment }) => environment,
    limitsByKey: true,
    isStoreError: (error) => error instanceof StripeApiError,
    refresh: async (object, signal) => {
      await refresh(object, signal)
      return null
    },
  })
  objects.onDue(queue.wakeAt)
  return { ...queue, refreshNow }

  /** Refreshes an object, after any other request about it. Throws `StripeApiError`, also at the deadline. */
  async function refreshNow(id: string, deadline: AbortSignal) {
    for (;;) {
      const leased = await queue.leaseOne(id)
      if (leased !== null)
        return queue.run(leased, (stopping) =>
          refresh(leased, AbortSignal.any([deadline, stopping])),
        )
      if (deadline.aborted) throw new StripeApiError('unreachable')
      await Bun.sleep(LEASE_POLL_MS)
    }
  }
}
