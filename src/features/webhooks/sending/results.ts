import { eq } from 'drizzle-orm'
import type { Log } from '../../../lib/log/log.ts'
import { DAY_MS, HOUR_MS } from '../../../lib/time/durations.ts'
import type { Tx } from '../../../platform/db/db.ts'
import { retryDelay } from '../../../platform/queue/retry-delay.ts'
import type { WebhooksDb } from '../schema.ts'
import type { AttemptResult, Delivery } from './attempt.ts'
import { JITTER, MAX_RETRY_AFTER_MS, RETRY_DELAYS_MS } from './schedule.ts'

export type Failure = 'gone' | 'failing'

type ResultsDeps = {
  db: WebhooksDb
  /** Called in the transaction that disables the endpoint. */
  onDisabled: (tx: Tx, url: string, reason: Failure) => Promise<void>
  now: () => Date
  newId: () => string
  /** Returns a number from 0 to 1. */
  random: () => number
  log: Log
}

export type Results = ReturnType<typeof createResults>

/** How much of a response is stored, in characters. A receiver may answer each of many events with a whole page. */
const MAX_STORED_REPLY_CHARS = { delivered: 500, failed: 4_000 }
const DISABLED_AFTER_MS = 5 * DAY_MS
/** Longer than any delay between two attempts. After such a pause, a failure begins a new streak. */
const STREAK_GAP_MS = 2 * DAY_MS

/** Records attempts, and disables endpoints that keep failing. */
export function createResults({ db, onDisabled, now, newId, random, log }: ResultsDeps) {
  const { webhookEndpoints, webhookMessages, webhookDeliveries, webhookAttempts } = db.tables
  return { record, planNext }

  /** Records an attempt, unless its endpoint was removed. */
  async function record(tx: Tx, { id, endpoint, message }: Delivery, result: AttemptResult) {
    if ((await tx.$count(webhookDeliveries, eq(webhookDeliveries.id, id))) === 0) return
    const { at, duration, status, fault, reply } = result
    const [current] = await tx
      .select({ data: webhookMessages.data })
      .from(webhookMessages)
      .where(eq(webhookMessages.id, message.id))
    // The user may have been deleted during the attempt, and a receiver may quote the message.
    const isErased = current?.data !== message.data
    const length = MAX_STORED_REPLY_CHARS[result.outcome === 'delivered' ? 'delivered' : 'failed']
    const stored = isErased ? '' : reply.slice(0, length).toWellFormed()
    const attempt = { id: newId(), deliveryId: id, at, duration, status, fault, reply: stored }
    await tx.insert(webhookAttempts).values(attempt)
    await updateEndpoint(tx, endpoint, result.outcome)
  }

  function planNext({ attempts }: Delivery, { outcome, retryAfterMs }: AttemptResult) {
    const count = { attempts: attempts + 1 }
    if (outcome === 'delivered') return { ...count, state: 'delivered', dueAt: null }
    const delay = retryDelay(attempts, {
      delays: outcome === 'gone' ? [] : RETRY_DELAYS_MS,
      jitter: JITTER,
      atLeastMs: Math.min(retryAfterMs ?? 0, MAX_RETRY_AFTER_MS),
      random,
    })
    if (delay === null) return { ...count, state: 'failed', dueAt: null }
    return { ...count, state: 'waiting', dueAt: new Date(now().getTime() + delay) }
  }

  /** Disables an endpoint that failed for too long, unless its URL has changed. Writes nothing for a healthy endpoint. */
  async function updateEndpoint(
    tx: Tx,
    { id, url }: Delivery['endpoint'],
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

  async function disable(tx: Tx, { id, url }: Delivery['endpoint'], reason: Failure) {
    await tx
      .update(webhookEndpoints)
      .set({ disabledAt: now(), disabledReason: reason })
      .where(eq(webhookEndpoints.id, id))
    await onDisabled(tx, url, reason)
    tx.afterCommit(() => log.warn({ endpoint: id, reason }, 'a webhook endpoint was disabled'))
  }
}
