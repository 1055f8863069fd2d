import { and, asc, eq, isNull, type SQL } from 'drizzle-orm'
import type { Log } from '../../../lib/log/log.ts'
import type { Tx } from '../../../platform/db/db.ts'
import type { Registry } from '../../../platform/metrics/registry.ts'
import { createQueue, type Leased } from '../../../platform/queue/queue.ts'
import type { Capacity } from '../../../platform/queue/workers.ts'
import type { WebhooksDb } from '../schema.ts'
import { type Attempt, type AttemptResult, type Delivery, OUTCOMES, TIMEOUT_MS } from './attempt.ts'
import { createPaces } from './pace.ts'
import type { Results } from './results.ts'
import { MAX_DELAY_MS } from './schedule.ts'

type DeliveryQueueDeps = {
  db: WebhooksDb
  attempt: Attempt
  results: Results
  registry: Pick<Registry, 'observe'>
  now: () => Date
  log: Log
  timeoutMs?: number | undefined
}

/** More than all endpoints together use, so that none waits for another, and less than Bun's limit of 256 requests. */
const SLOTS = 200
/** Longer than an attempt. */
const LEASE_MS = 30_000

/** Each endpoint has its own slots and its own pace. */
export function createDeliveryQueue(deps: DeliveryQueueDeps) {
  const { db, attempt, results, registry, now, log } = deps
  const { webhookEndpoints, webhookMessages, webhookDeliveries } = db.tables
  const paces = createPaces(deps.timeoutMs ?? TIMEOUT_MS)
  const pauses = new Set<Promise<unknown>>()
  const counts: Record<string, number> = Object.fromEntries(OUTCOMES.map((name) => [name, 0]))
  const queue = createQueue({
    db,
    name: 'webhook queue',
    table: webhookDeliveries,
    id: webhookDeliveries.id,
    slots: SLOTS,
    slotsPerKey: paces.findLimit,
    toKey: ({ endpoint }) => endpoint.id,
    leaseMs: LEASE_MS,
    maxDelayMs: MAX_DELAY_MS,
    findDue,
    load,
    work: async (delivery, signal) => void (await attemptAndRecord(delivery, signal)),
    now,
    log,
  })
  return { ...queue, attemptNow, flush, counts }

  /** Throws if the result could not be recorded; the delivery is then attempted again. */
  function attemptNow(delivery: Leased<Delivery>): Promise<AttemptResult> {
    return queue.run(delivery, (signal) => attemptAndRecord(delivery, signal))
  }

  /** Also waits until all pauses have ended. */
  async function flush() {
    await queue.flush()
    while (pauses.size > 0) {
      await Promise.all(pauses)
      await queue.flush()
    }
  }

  /** The oldest due deliveries of each enabled endpoint with free slots. */
  async function findDue(isDue: SQL, { countSlots }: Capacity) {
    const endpoints = await db.read
      .select({ id: webhookEndpoints.id })
      .from(webhookEndpoints)
      .where(isNull(webhookEndpoints.disabledAt))
      .execute()
    const due = endpoints
      .filter(({ id }) => countSlots(id) > 0)
      .map(({ id }) =>
        // A range of due times is read from the index; it leaves out finished deliveries, which have none.
        db.read
          .select({ id: webhookDeliveries.id })
          .from(webhookDeliveries)
          .where(and(eq(webhookDeliveries.endpointId, id), isDue))
          .orderBy(asc(webhookDeliveries.dueAt))
          .limit(countSlots(id)),
      )
    return (await Promise.all(due)).flat()
  }

  async function load(tx: Tx, which: SQL): Promise<Delivery[]> {
    const rows = await tx
      .select({ delivery: webhookDeliveries, endpoint: webhookEndpoints, message: webhookMessages })
      .from(webhookDeliveries)
      .innerJoin(webhookEndpoints, eq(webhookEndpoints.id, webhookDeliveries.endpointId))
      .innerJoin(webhookMessages, eq(webhookMessages.id, webhookDeliveries.messageId))
      .where(which)
    return rows.map(({ delivery: { id, attempts }, endpoint, message }) => {
      return { id, attempts, endpoint, message }
    })
  }

  async function attemptAndRecord(
    delivery: Leased<Delivery>,
    signal: AbortSignal,
  ): Promise<AttemptResult> {
    const { endpoint, id } = delivery
    const reportResult = paces.start(endpoint.id)
    const result = await attempt(delivery, signal)
    pause(endpoint.id, reportResult(result))
    const { outcome, status, duration } = result
    if (outcome !== 'delivered') signal.throwIfAborted()
    counts[outcome] = (counts[outcome] ?? 0) + 1
    const next = results.planNext(delivery, result)
    const isCurrent = await db.write(async (tx) => {
      await results.record(tx, delivery, result)
      // The delivery may have been resent, or taken over by another instance.
      return queue.finish(tx, delivery, next)
    })
    const isRetried = isCurrent && next.dueAt !== null
    const failure = outcome === 'delivered' ? null : isRetried ? 'soft' : 'hard'
    const hasReply = status !== null || outcome === 'timeout'
    const value = hasReply ? duration : null
    registry.observe(`webhook ${endpoint.id}`, { value, failure })
    if (isRetried) {
      log.info(
        { endpoint: endpoint.id, delivery: id, outcome, status, ms: duration },
        'a webhook attempt failed',
      )
    }
    return result
  }

  function pause(endpointId: string, ms: number) {
    if (ms <= 0) return
    const ended = Bun.sleep(Math.ceil(ms)).then(() => {
      pauses.delete(ended)
      queue.wake([endpointId])
    })
    pauses.add(ended)
  }
}
