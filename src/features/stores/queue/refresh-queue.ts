import { gt, isNull, or, type SQL } from 'drizzle-orm'
import type { AnySQLiteColumn } from 'drizzle-orm/sqlite-core'
import { MINUTE_MS } from '../../../lib/time/durations.ts'
import { pause } from '../../../platform/jobs/jobs.ts'
import { createQueue, type QueueDeps, type QueueTable } from '../../../platform/queue/queue.ts'
import { retryDelay } from '../../../platform/queue/retry-delay.ts'
import type { Capacity } from '../../../platform/queue/workers.ts'
import { createPause, type Pause } from './pause.ts'

/** `busy` and `unreachable` concern all requests to the store, `refused_key` those with the same key; `limited`: see `limitsByKey`. */
type StoreError = Error & { reason: string; retryAfterMs: number | null }

/** `askedAt`: the last request with a response; null if there was none. */
type RefreshTable = QueueTable & { attempts: AnySQLiteColumn; askedAt: AnySQLiteColumn }

type RefreshQueueDeps<Table extends RefreshTable, Item extends { id: string }> = Pick<
  QueueDeps<Table, Item>,
  'db' | 'name' | 'table' | 'id' | 'load' | 'isRepaired' | 'now' | 'log'
> & {
  /** The name of the store's owner, such as Google. */
  store: string
  requestsPerSecond: number
  findDue: (isDue: SQL, limit: number, exceptKeys: string[]) => PromiseLike<{ id: string }[]>
  /** What the store refuses as a whole: an app, or an environment. */
  toKey: (item: Item) => string
  /** Whether the store limits the requests of each key, and not all of them together. */
  limitsByKey?: boolean
  /** Returns an error after which the item is not refreshed again; throws `StoreError` for others. */
  refresh: (item: Item, signal: AbortSignal) => Promise<StoreError | null>
  isStoreError: (error: unknown) => error is StoreError
}

/** Longer than the timeouts of all requests about one item. */
const LEASE_MS = MINUTE_MS
const REFUSED_PAUSE_MS = 10 * MINUTE_MS
const LIMITED_PAUSE_MS = MINUTE_MS
/** The pauses of the whole queue, unless the store states their length. */
const PAUSES = {
  delays: [1, 2, 4, 8].map((minutes) => minutes * MINUTE_MS),
  thenMs: 10 * MINUTE_MS,
}
const GENERAL = ['limited', 'busy', 'unreachable']

/** Several instances may work at the same time, because each item is leased. */
export function createRefreshQueue<Table extends RefreshTable, Item extends { id: string }>(
  deps: RefreshQueueDeps<Table, Item>,
) {
  const { store, requestsPerSecond, toKey, limitsByKey, refresh, isStoreError, ...others } = deps
  const { findDue: find, isRepaired, ...shared } = others
  const { db, table, now, log } = shared
  let paused = createPause(0, now)
  const refused = new Map<string, Pause>()
  let failures = 0
  let second = { startedAt: 0, asked: 0 }
  const queue = createQueue<Table, Item>({
    ...shared,
    slots: requestsPerSecond,
    leaseMs: LEASE_MS,
    findDue,
    isRepaired: mayBeTooLate,
    work: refreshInQueue,
  })
  // Aborted items are queried again after the next start.
  return { ...queue, leaseOne, stop: () => queue.stop(0) }

  /** Leases an item for `run`, due or not; null while it is being queried. */
  async function leaseOne(id: string) {
    const [leased] = await db.write((tx) => queue.lease(tx, [id]))
    return leased ?? null
  }

  /** Finds no more items than the store may be queried about in a second. */
  async function findDue(isDue: SQL, { slots, signal }: Capacity) {
    await waitForRate(signal)
    if (signal.aborted || paused.isInForce()) return []
    const except = [...refused].flatMap(([key, keyPause]) => (keyPause.isInForce() ? [key] : []))
    const limit = Math.min(slots, requestsPerSecond - second.asked)
    const found = await find(isDue, limit, except)
    second.asked += found.length
    return found
  }

  /** Whether a clock that was ahead may have set the due time: the store's response sets that of other items. */
  function mayBeTooLate() {
    const { attempts, askedAt } = table
    return or(gt(attempts, 0), isNull(askedAt), gt(askedAt, now()), isRepaired?.())
  }

  async function waitForRate(signal: AbortSignal) {
    const leftMs = 1_000 - (performance.now() - second.startedAt)
    if (leftMs > 0 && second.asked < requestsPerSecond) return
    await pause(leftMs, signal)
    second = { startedAt: performance.now(), asked: 0 }
  }

  async function refreshInQueue(item: Item, signal: AbortSignal) {
    try {
      const error = await refresh(item, signal)
      if (error !== null) return pauseAfter(error, item)
      failures = 0
      refused.delete(toKey(item))
    } catch (thrown) {
      // The lease delays the next attempt after any other error.
      if (!isStoreError(thrown)) throw thrown
      if (!signal.aborted) pauseAfter(thrown, item)
    }
  }

  /** Pauses all items, or those with the same key, if they have the problem in common. */
  function pauseAfter(error: StoreError, item: Item) {
    const key = toKey(item)
    const isRefused = error.reason === 'refused_key'
    if (isRefused || (limitsByKey && error.reason === 'limited')) {
      if (!refused.has(key)) log.error({ err: error, key }, `${store} refuses requests`)
      const ms = isRefused ? REFUSED_PAUSE_MS : (error.retryAfterMs ?? LIMITED_PAUSE_MS)
      refused.set(key, createPause(ms, now))
      return
    }
    if (!GENERAL.includes(error.reason) || paused.isInForce()) return
    paused = createPause(error.retryAfterMs ?? retryDelay(failures, PAUSES), now)
    if (failures === 0) log.error({ err: error }, `${store} cannot be queried`)
    failures++
  }
}
