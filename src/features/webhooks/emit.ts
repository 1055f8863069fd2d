import { desc, eq, isNull, sql } from 'drizzle-orm'
import type { Tx } from '../../platform/db/db.ts'
import type { Queue } from '../../platform/queue/queue.ts'
import { ALL_EVENTS, type WebhookEvent } from './events.ts'
import type { WebhooksDb } from './schema.ts'

type EmitDeps = {
  db: WebhooksDb
  now: () => Date
  newId: () => string
  queue: Pick<Queue, 'wakeAfter'>
}

/** Adds events in the transactions that cause them. */
export function createEmitter({ db, now, newId, queue }: EmitDeps) {
  const { webhookEndpoints, webhookMessages, webhookDeliveries } = db.tables
  // A cached list could survive the rollback of the change that added an endpoint.
  const enabledEndpoints = db.prepareWrite((tx) =>
    tx
      .select({ id: webhookEndpoints.id, events: webhookEndpoints.events })
      .from(webhookEndpoints)
      .where(isNull(webhookEndpoints.disabledAt)),
  )
  const selectLatest = db.prepareWrite((tx) =>
    tx
      .select({ createdAt: webhookMessages.createdAt })
      .from(webhookMessages)
      .where(eq(webhookMessages.userId, sql.placeholder('userId')))
      .orderBy(desc(webhookMessages.createdAt))
      .limit(1),
  )
  return { emit, addMessage }

  /** Writes nothing if no endpoint receives this type. */
  async function emit(tx: Tx, event: WebhookEvent) {
    const endpoints = await enabledEndpoints(tx).execute()
    const receivers = endpoints.filter(
      ({ events }) => events.includes(ALL_EVENTS) || events.includes(event.type),
    )
    if (receivers.length === 0) return
    const ids = receivers.map(({ id }) => id)
    await addMessage(tx, event, ids)
    queue.wakeAfter(tx, ids)
  }

  /** Adds a message that is due now. Returns the ids of its deliveries. */
  async function addMessage(tx: Tx, event: WebhookEvent, endpointIds: string[]) {
    const { type, userId, data } = event
    const messageId = newId()
    const createdAt = await computeNextTime(tx, findUser(event))
    const message = { id: messageId, type, userId, data: JSON.stringify(data), createdAt }
    await tx.insert(webhookMessages).values(message)
    const deliveries = endpointIds.map((endpointId) => ({
      id: newId(),
      messageId,
      endpointId,
      state: 'waiting',
      attempts: 0,
      dueAt: now(),
    }))
    await tx.insert(webhookDeliveries).values(deliveries)
    return deliveries.map(({ id }) => id)
  }

  /** Strictly increasing per user, even if the clock moves back: receivers ignore older messages. */
  async function computeNextTime(tx: Tx, userId: string | null): Promise<Date> {
    const at = now()
    if (userId === null) return at
    const [latest] = await selectLatest(tx).execute({ userId })
    return latest && latest.createdAt >= at ? new Date(latest.createdAt.getTime() + 1) : at
  }
}

/** The user whose messages the event must follow. A merged guest's messages already belong to the account. */
function findUser({ type, userId, data }: WebhookEvent): string | null {
  return (type === 'user.deleted' && data.mergedInto) || userId
}
