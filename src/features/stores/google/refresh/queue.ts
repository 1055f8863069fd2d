import type { Log } from '../../../../lib/log/log.ts'
import { createRefreshQueue } from '../../queue/refresh-queue.ts'
import type { StoresDb } from '../../schema.ts'
import { PlayApiError } from '../api/api-error.ts'
import type { KnownPurchase, PlayPurchases } from './purchases.ts'
import type { RefreshPurchase } from './refresh.ts'

type PlayQueueDeps = {
  db: StoresDb
  purchases: PlayPurchases
  refresh: RefreshPurchase
  /** At most this many purchases a second; Google allows 3,000 requests a minute. */
  requestsPerSecond?: number | undefined
  now: () => Date
  log: Log
}

export type PlayQueue = ReturnType<typeof createPlayQueue>

const REQUESTS_PER_SECOND = 20
const NOT_ACKNOWLEDGED = 'Google does not let the service account acknowledge a purchase'

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
    isRepaired: purchases.isRetry,
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
