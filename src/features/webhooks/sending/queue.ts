import { and, asc, eq, gt, inArray, isNull, lte, type SQL } from 'drizzle-orm'
import type { Log } from '../../../lib/log/log.ts'
import { DAY_MS, HOUR_MS } from '../../../lib/time/durations.ts'
import type { Reader, Tx } from '../../../platform/db/db.ts'
import type { WebhooksDb } from '../schema.ts'
import type { AttemptResult, Claimed } from './attempt.ts'
import { MAX_DELAY_MS, retryDelay } from './schedule.ts'

/** Why an endpoint is disabled automatically. */
export type Failure = 'gone' | 'failing'

type QueueDeps = {
  db: WebhooksDb
  /** Tells operators, as part of the change, that an endpoint was disabled. */
  onDisabled: (tx: Tx, url: string, reason: Failure) => Promise<void>
  now: () => Date
  newId: () => string
  /** From 0 to 1. */
  random: () => number
  log: Log
}

export type Queue = ReturnType<typeof createQueue>

/** Longer than an attempt: after this time another instance tries again. */
const LEASE_MS = 30_000
/** Characters of a reply that are stored. A receiver may reply to each of a great many events with a whole page. */
const MAX_STORED_REPLY_CHARS = { delivered: 500, failed: 4_000 }
const DISABLED_AFTER_MS = 5 * DAY_MS
/** Longer than any delay between two attempts. After such a pause, a failure begins a new streak. */
const STREAK_GAP_MS = 2 * DAY_MS

/** Deliveries that are due. Several instances share the queue: each delivery is leased for its attempt. */
export function createQueue({ db, onDisabled, now, newId, random, log }: QueueDeps) {
  const { webhookEndpoints, webhookMessages, webhookDeliveries, webhookAttempts } = db.tables
  return { claim, claimNew, finish, release, leaseEnd, retryAll }

  /** Leases due deliveries, at most `freeSlots` of each endpoint. */
  async function claim(freeSlots: (endpointId: string) => number): Promise<Claimed[]> {
    const due = await findDue(freeSlots)
    if (due.length === 0) return []
    return db.write(async (tx) => {
      const leasedUntil = leaseEnd()
      const claimed: Claimed[] = []
      for (const [endpointId, slots] of due) {
        const ids = await dueIds(tx, endpointId, slots)
        if (ids.length === 0) continue
        await tx
          .update(webhookDeliveries)
          .set({ dueAt: leasedUntil })
          .where(inArray(webhookDeliveries.id, ids))
        claimed.push(...(await load(tx, ids, leasedUntil)))
      }
      return claimed
    })
  }

  /** The delivery that was just added with a lease. */
  async function claimNew(tx: Tx, id: string, leasedUntil: Date): Promise<Claimed> {
    const [claimed] = await load(tx, [id], leasedUntil)
    return claimed as Claimed
  }

  /** Makes all deliveries due except those under way: a clock that was ahead has scheduled some too late. */
  async function retryAll() {
    const isWaiting = gt(webhookDeliveries.dueAt, leaseEnd())
    await db.write(
      async (tx) =>
        void (await tx.update(webhookDeliveries).set({ dueAt: now() }).where(isWaiting)),
    )
  }

  function leaseEnd(): Date {
    return new Date(now().getTime() + LEASE_MS)
  }

  /** The endpoints with due deliveries and free slots. */
  async function findDue(freeSlots: (endpointId: string) => number) {
    const endpoints = await db.read
      .select({ id: webhookEndpoints.id })
      .from(webhookEndpoints)
      .where(isNull(webhookEndpoints.disabledAt))
      .execute()
    const free = endpoints
      .map(({ id }): [id: string, slots: number] => [id, freeSlots(id)])
      .filter(([, slots]) => slots > 0)
    const due = await Promise.all(free.map(([id]) => dueIds(db.read, id, 1)))
    return free.filter((_, at) => (due[at]?.length ?? 0) > 0)
  }

  async function dueIds(from: Reader, endpointId: string, limit: number): Promise<string[]> {
    const at = now()
    const due = await idsWhere(from, endpointId, lte(webhookDeliveries.dueAt, at), limit)
    if (due.length > 0) return due
    // A delivery due later than any retry could be was added while the clock was wrong.
    const latest = new Date(at.getTime() + MAX_DELAY_MS + HOUR_MS)
    return idsWhere(from, endpointId, gt(webhookDeliveries.dueAt, latest), limit)
  }

  /** A range of due times is read from the index; it leaves out finished deliveries, which have none. */
  async function idsWhere(from: Reader, endpointId: string, range: SQL, limit: number) {
    const rows = await from
      .select({ id: webhookDeliveries.id })
      .from(webhookDeliveries)
      .where(and(eq(webhookDeliveries.endpointId, endpointId), range))
      .orderBy(asc(webhookDeliveries.dueAt))
      .limit(limit)
    return rows.map(({ id }) => id)
  }

  async function load(tx: Tx, ids: string[], leasedUntil: Date): Promise<Claimed[]> {
    const rows = await tx
      .select({ delivery: webhookDeliveries, endpoint: webhookEndpoints, message: webhookMessages })
      .from(webhookDeliveries)
      .innerJoin(webhookEndpoints, eq(webhookEndpoints.id, webhookDeliveries.endpointId))
      .innerJoin(webhookMessages, eq(webhookMessages.id, webhookDeliveries.messageId))
      .where(inArray(webhookDeliveries.id, ids))
    return rows.map(({ delivery: { id, attempts }, endpoint, message }) => {
      return { id, attempts, leasedUntil, endpoint, message }
    })
  }

  /** Records an attempt and schedules the next one. Returns when that is due; null if there is none. */
  async function finish(claimed: Claimed, result: AttemptResult): Promise<Date | null> {
    const { id, endpoint } = claimed
    const next = planAfter(claimed, result)
    const isCurrent = await db.write(async (tx) => {
      const isThis = eq(webhookDeliveries.id, id)
      // The endpoint may have been removed.
      if ((await tx.$count(webhookDeliveries, isThis)) === 0) return false
      const { at, duration, status, fault, reply } = result
      const [message] = await tx
        .select({ data: webhookMessages.data })
        .from(webhookMessages)
        .where(eq(webhookMessages.id, claimed.message.id))
      // The user may have been deleted during the attempt, and a receiver may quote the message.
      const isErased = message?.data !== claimed.message.data
      const length = MAX_STORED_REPLY_CHARS[result.outcome === 'delivered' ? 'delivered' : 'failed']
      const stored = isErased ? '' : reply.slice(0, length).toWellFormed()
      const attempt = { id: newId(), deliveryId: id, at, duration, status, fault, reply: stored }
      await tx.insert(webhookAttempts).values(attempt)
      await updateEndpoint(tx, endpoint, result.outcome)
      // The delivery may have been resent, or taken over by another instance.
      const updated = await tx
        .update(webhookDeliveries)
        .set(next)
        .where(isClaim(claimed))
        .returning({ id: webhookDeliveries.id })
      return updated.length > 0
    })
    return isCurrent ? next.dueAt : null
  }

  function planAfter({ attempts }: Claimed, { outcome, retryAfterMs }: AttemptResult) {
    const count = attempts + 1
    if (outcome === 'delivered') return { state: 'delivered', attempts: count, dueAt: null }
    const delay = outcome === 'gone' ? null : retryDelay(count, retryAfterMs, random())
    if (delay === null) return { state: 'failed', attempts: count, dueAt: null }
    return { state: 'waiting', attempts: count, dueAt: new Date(now().getTime() + delay) }
  }

  /** Makes a delivery due again at once, because its attempt was aborted. */
  async function release(claimed: Claimed) {
    const dueAt = now()
    await db.write(async (tx) => {
      await tx.update(webhookDeliveries).set({ dueAt }).where(isClaim(claimed))
    })
  }

  function isClaim({ id, leasedUntil }: Claimed) {
    return and(eq(webhookDeliveries.id, id), eq(webhookDeliveries.dueAt, leasedUntil))
  }

  /**
   * Keeps track of failures, and disables an endpoint that has failed for too long, unless its URL has changed since. A
   * healthy one is not written.
   */
  async function updateEndpoint(
    tx: Tx,
    { id, url }: Claimed['endpoint'],
    outcome: AttemptResult['outcome'],
  ) {
    const isThis = eq(webhookEndpoints.id, id)
    const [endpoint] = await tx.select().from(webhookEndpoints).where(isThis)
    if (endpoint?.url !== url || endpoint.disabledAt !== null) return
    const { failingSince, failedAt } = endpoint
    if (outcome === 'delivered') {
      if (failingSince === null) return
      await tx.update(webhookEndpoints).set({ failingSince: null, failedAt: null }).where(isThis)
      return
    }
    const at = now()
    if (outcome === 'gone') return disable(tx, endpoint, 'gone')
    const isStreak = failedAt !== null && at.getTime() - failedAt.getTime() < STREAK_GAP_MS
    if (failingSince === null || !isStreak) {
      await tx.update(webhookEndpoints).set({ failingSince: at, failedAt: at }).where(isThis)
    } else if (at.getTime() - failingSince.getTime() >= DISABLED_AFTER_MS) {
      await disable(tx, endpoint, 'failing')
    } else if (at.getTime() - failedAt.getTime() >= HOUR_MS) {
      await tx.update(webhookEndpoints).set({ failedAt: at }).where(isThis)
    }
  }

  async function disable(tx: Tx, { id, url }: Claimed['endpoint'], reason: Failure) {
    await tx
      .update(webhookEndpoints)
      .set({ disabledAt: now(), disabledReason: reason })
      .where(eq(webhookEndpoints.id, id))
    await onDisabled(tx, url, reason)
    tx.afterCommit(() => log.warn({ endpoint: id, reason }, 'a webhook endpoint was disabled'))
  }
}
