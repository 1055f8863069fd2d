import { and, asc, eq, inArray } from 'drizzle-orm'
import { AppError, notFound } from '../../lib/errors.ts'
import { repeatInBatches } from '../../platform/db/batched-changes.ts'
import type { Reader } from '../../platform/db/db.ts'
import { equals } from '../../platform/db/key-ranges.ts'
import { findPage } from '../../platform/lists/find-page.ts'
import { createSources } from '../../platform/lists/sources.ts'
import type { Queue } from '../../platform/queue/queue.ts'
import { toBody } from './events.ts'
import type { WebhooksDb } from './schema.ts'

export const DELIVERY_STATES = ['waiting', 'delivered', 'failed'] as const

export const DELIVERY_ORDERS = ['created', '-created'] as const

type DeliveryFilter = {
  endpoint?: string | undefined
  state?: (typeof DELIVERY_STATES)[number] | undefined
  /** Default: `-created`, newest first. */
  sort?: (typeof DELIVERY_ORDERS)[number] | undefined
  after?: string | undefined
  limit?: number | undefined
}

type DeliveriesDeps = {
  db: WebhooksDb
  now: () => Date
  queue: Pick<Queue, 'wakeAfter'>
}

export type Deliveries = ReturnType<typeof createDeliveries>

const PAGE_SIZE = 50
const RESENT_PER_CHANGE = 500

export function createDeliveries({ db, now, queue }: DeliveriesDeps) {
  const { webhookEndpoints, webhookMessages, webhookDeliveries, webhookAttempts } = db.tables
  const { id, endpointId, messageId, state, attempts, dueAt } = webhookDeliveries
  const { type, userId, createdAt } = webhookMessages
  const messageColumns = { type, userId, createdAt }
  const columns = { id, endpointId, messageId, state, attempts, dueAt, ...messageColumns }
  const toMessage = eq(webhookMessages.id, messageId)
  return { list, show, resend, resendFailed }

  async function list({ after, limit = PAGE_SIZE, sort, ...filter }: DeliveryFilter) {
    const sources = createSources(
      {
        read: db.read,
        table: webhookDeliveries,
        key: id,
        columns,
        joins: [[webhookMessages, toMessage]],
        isDescending: sort !== 'created',
      },
      [{ where: matches(filter), isIndexed: true }],
    )
    const { rows, next, total } = await findPage({ sources, after, limit, count: 'index' })
    return { deliveries: rows.map(toDelivery), next, total }
  }

  function matches(filter: DeliveryFilter) {
    return and(equals(endpointId, filter.endpoint), equals(state, filter.state))
  }

  /** A delivery with its attempts, oldest first. Throws `not_found`. */
  async function show(delivery: string) {
    const row = await findOrThrow(db.read, delivery)
    const attempts = await db.read
      .select()
      .from(webhookAttempts)
      .where(eq(webhookAttempts.deliveryId, delivery))
      .orderBy(asc(webhookAttempts.id))
    return {
      ...toDelivery(row),
      url: row.url,
      body: toBody(row.message),
      log: attempts.map(({ at, duration, status, fault, reply }) => {
        return { at: at.toISOString(), duration, status, fault, reply }
      }),
    }
  }

  /** Starts the full schedule of retries again. Throws `not_found` or `conflict`. */
  async function resend(delivery: string) {
    return db.write(async (tx) => {
      const row = await findOrThrow(tx, delivery)
      await requireEnabled(tx, row.endpointId)
      const resent = resentNow()
      await tx.update(webhookDeliveries).set(resent).where(eq(id, delivery))
      queue.wakeAfter(tx, [row.endpointId])
      return toDelivery({ ...row, ...resent })
    })
  }

  /** Returns how many are resent. Throws `not_found` or `conflict`. */
  async function resendFailed(endpoint: string): Promise<number> {
    const failed = matches({ endpoint, state: 'failed' })
    let resent = 0
    await repeatInBatches(db, RESENT_PER_CHANGE, async (tx) => {
      await requireEnabled(tx, endpoint)
      const some = tx.select({ id }).from(webhookDeliveries).where(failed).limit(RESENT_PER_CHANGE)
      const { length } = await tx
        .update(webhookDeliveries)
        .set(resentNow())
        .where(inArray(id, some))
        .returning({ id })
      queue.wakeAfter(tx, [endpoint])
      tx.afterCommit(() => {
        resent += length
      })
      return length
    })
    return resent
  }

  async function requireEnabled(tx: Reader, wanted: string) {
    const { disabledAt } = webhookEndpoints
    const [endpoint] = await tx
      .select({ disabledAt })
      .from(webhookEndpoints)
      .where(eq(webhookEndpoints.id, wanted))
    if (endpoint === undefined) throw notFound()
    if (endpoint.disabledAt === null) return
    throw new AppError('conflict', 'The endpoint is disabled. Enable it first.')
  }

  function resentNow() {
    return { state: 'waiting', attempts: 0, dueAt: now() }
  }

  async function findOrThrow(from: Reader, delivery: string) {
    const [row] = await from
      .select({ ...columns, url: webhookEndpoints.url, message: webhookMessages })
      .from(webhookDeliveries)
      .innerJoin(webhookEndpoints, eq(webhookEndpoints.id, endpointId))
      .innerJoin(webhookMessages, toMessage)
      .where(eq(id, delivery))
    if (row === undefined) throw notFound()
    return row
  }
}

type Tables = WebhooksDb['tables']
type Row = Pick<Tables['webhookMessages']['$inferSelect'], 'type' | 'userId' | 'createdAt'> &
  Tables['webhookDeliveries']['$inferSelect']

function toDelivery(row: Row) {
  const { id, endpointId, messageId, type, userId, state, attempts, createdAt, dueAt } = row
  return {
    id,
    endpointId,
    messageId,
    type,
    userId,
    state,
    /** Attempts since it was created or resent. */
    attempts,
    createdAt: createdAt.toISOString(),
    /** Null unless the delivery is waiting. */
    nextAttemptAt: dueAt?.toISOString() ?? null,
  }
}
