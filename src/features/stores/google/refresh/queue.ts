import type { SQL } from 'drizzle-orm'
import type { Log } from '../../../../lib/log/log.ts'
import { MINUTE_MS } from '../../../../lib/time/durations.ts'
import { pause } from '../../../../platform/jobs/jobs.ts'
import { createQueue } from '../../../../platform/queue/queue.ts'
import { retryDelay } from '../../../../platform/queue/retry-delay.ts'
import type { Capacity } from '../../../../platform/queue/workers.ts'
import { createPause, type Pause } from '../../pause.ts'
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
/** Longer than the timeouts of all requests about one purchase. */
const LEASE_MS = MINUTE_MS
const REFUSED_PAUSE_MS = 10 * MINUTE_MS
/** The pauses of the whole queue, unless Google says how long. */
const PAUSES = {
  delays: [1, 2, 4, 8].map((minutes) => minutes * MINUTE_MS),
  thenMs: 10 * MINUTE_MS,
}
const NOT_ACKNOWLEDGED = 'Google does not let the service account acknowledge a purchase'

/** Instances may work at once: each purchase is leased. */
export function createPlayQueue(deps: PlayQueueDeps) {
  const { db, purchases, refresh, now, log, requestsPerSecond = REQUESTS_PER_SECOND } = deps
  let paused = createPause(0, now)
  /** By package: Google may refuse the account for one app only. */
  const refused = new Map<string, Pause>()
  let failures = 0
  let second = { startedAt: 0, asked: 0 }
  const queue = createQueue({
    db,
    name: 'queue of Google purchases',
    table: db.tables.playPurchases,
    id: db.tables.playPurchases.tokenHash,
    slots: requestsPerSecond,
    leaseMs: LEASE_MS,
    findDue,
    load: purchases.load,
    work: refreshInQueue,
    isRepaired: purchases.isRetry,
    now,
    log,
  })
  // An aborted purchase is queried again after the next start.
  return { ...queue, leaseOne, refreshNow, stop: () => queue.stop(0) }

  /** For `refreshNow`, whether it is due or not; null while it is being queried. */
  async function leaseOne(tokenHash: string): Promise<KnownPurchase | null> {
    const [leased] = await db.write((tx) => queue.lease(tx, [tokenHash]))
    return leased ?? null
  }

  /** For a purchase that `leaseOne` has returned. Throws `PlayApiError`. */
  function refreshNow(purchase: KnownPurchase, deadline?: AbortSignal) {
    return queue.run(purchase, (stopping) =>
      refresh(purchase, deadline ? AbortSignal.any([deadline, stopping]) : stopping),
    )
  }

  /** No more than Google may be queried for in a second. */
  async function findDue(isDue: SQL, { slots, signal }: Capacity) {
    await waitForRate(signal)
    if (signal.aborted || paused.isInForce()) return []
    const except = [...refused].flatMap(([name, one]) => (one.isInForce() ? [name] : []))
    const limit = Math.min(slots, requestsPerSecond - second.asked)
    const found = await purchases.findDue(isDue, limit, except)
    second.asked += found.length
    return found
  }

  async function waitForRate(signal: AbortSignal) {
    const leftMs = 1_000 - (performance.now() - second.startedAt)
    if (leftMs > 0 && second.asked < requestsPerSecond) return
    await pause(leftMs, signal)
    second = { startedAt: performance.now(), asked: 0 }
  }

  async function refreshInQueue(purchase: KnownPurchase, signal: AbortSignal) {
    try {
      const { error } = await refresh(purchase, signal)
      if (error === null) {
        failures = 0
        refused.delete(purchase.packageName)
      }
      // The service account may lack only the permission to acknowledge.
      else if (error.reason === 'refused_key') log.warn({ err: error }, NOT_ACKNOWLEDGED)
      else pauseAfter(error, purchase)
    } catch (thrown) {
      // The lease delays the next attempt after any other error.
      if (!(thrown instanceof PlayApiError)) throw thrown
      if (!signal.aborted) pauseAfter(thrown, purchase)
    }
  }

  /** A problem of all purchases, or of all in an app, pauses them. */
  function pauseAfter(error: PlayApiError, { packageName }: KnownPurchase) {
    if (error.reason === 'refused_key') {
      if (!refused.has(packageName)) {
        log.error({ err: error, packageName }, 'Google refuses to describe the purchases of an app')
      }
      refused.set(packageName, createPause(REFUSED_PAUSE_MS, now))
      return
    }
    const isGeneral = ['limited', 'busy', 'unreachable'].includes(error.reason)
    if (!isGeneral || paused.isInForce()) return
    paused = createPause(error.retryAfterMs ?? retryDelay(failures, PAUSES), now)
    if (failures === 0) log.error({ err: error }, 'Google cannot be queried for purchases')
    failures++
  }
}
