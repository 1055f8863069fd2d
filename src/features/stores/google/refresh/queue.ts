import { gt } from 'drizzle-orm'
import { createRefreshQueue } from '../../queue/refresh-queue.ts'
import { PlayApiError } from '../api/api-error.ts'
import type { PlayContext } from '../context.ts'
import type { KnownPurchase } from './purchases.ts'
import type { RefreshPurchase } from './refresh.ts'

export type PlayQueue = ReturnType<typeof createPlayQueue>

/** Google allows 3,000 requests a minute. */
const REQUESTS_PER_SECOND = 20
const NOT_ACKNOWLEDGED = 'Google does not let the service account acknowledge a purchase'

type PlayQueueDeps = Pick<PlayContext, 'db' | 'purchases' | 'requestsPerSecond' | 'now' | 'log'> & {
  refresh: RefreshPurchase
}

export function createPlayQueue(deps: PlayQueueDeps) {
  const { purchases, refresh, log, requestsPerSecond = REQUESTS_PER_SECOND } = deps
  const { playPurchases } = deps.db.tables
  const queue = createRefreshQueue<typeof playPurchases, KnownPurchase>({
    ...deps,
    name: 'queue of Google purchases',
    store: 'Google',
    table: playPurchases,
    id: playPurchases.tokenHash,
    requestsPerSecond,
    findDue: purchases.findDue,
    load: purchases.load,
    // Google had no record of the purchase, and is queried again.
    isRepaired: () => gt(playPurchases.misses, 0),
    // Google may refuse the account for one app only.
    toKey: ({ packageName }) => packageName,
    isStoreError: (error) => error instanceof PlayApiError,
    refresh: refreshInQueue,
  })
  return { ...queue, refreshNow }

  /** Refreshes a purchase that `leaseOne` has returned. Throws `PlayApiError`. */
  function refreshNow(purchase: KnownPurchase & { leasedUntil: Date }, deadline?: AbortSignal) {
    return queue.run(purchase, (stopping) =>
      refresh(purchase, deadline ? AbortSignal.any([deadline, stopping]) : stopping),
    )
  }

  async function refreshInQueue(purchase: KnownPurchase, signal: AbortSignal) {
    const { error } = await refresh(purchase, signal)
    if (error?.reason !== 'refused_key') return error
    // The service account may lack only the permission to acknowledge.
    log.warn({ err: error }, NOT_ACKNOWLEDGED)
    return null
  }
}
