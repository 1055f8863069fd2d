import { and, eq, inArray, lt, ne } from 'drizzle-orm'
import { chunk } from '../../lib/concurrency/chunk.ts'
import { DAY_MS } from '../../lib/time/durations.ts'
import { repeatInBatches } from '../../platform/db/batched-changes.ts'
import type { Tx } from '../../platform/db/db.ts'
import type { WebhooksDb } from './schema.ts'

type RetentionDeps = { db: WebhooksDb; now: () => Date }

/** Longer than the retries of a message, so only endpoints that stay disabled lose messages. */
const KEPT_MS = 30 * DAY_MS
/** Each message may have 20 deliveries. */
const ROWS_AT_ONCE = 100
const MESSAGES_PER_UPDATE = 500

export function createRetention({ db, now }: RetentionDeps) {
  const { webhookEndpoints, webhookMessages, webhookDeliveries, webhookAttempts } = db.tables
  return { eraseUser, mergeUsers, clearOld }

  /** Removes personal data from a user's messages, delivered or not; the ids and `user.deleted` stay. */
  async function eraseUser(tx: Tx, userId: string) {
    const messages = await tx
      .select({ id: webhookMessages.id, data: webhookMessages.data })
      .from(webhookMessages)
      .where(and(eq(webhookMessages.userId, userId), ne(webhookMessages.type, 'user.deleted')))
    // A message of a merged guest names the guest.
    const byName = Map.groupBy(messages, ({ data }): string => JSON.parse(data).userId ?? userId)
    for (const [namedId, theirs] of byName) {
      const data = JSON.stringify({ userId: namedId, erased: true })
      for (const batch of chunk(theirs, MESSAGES_PER_UPDATE)) {
        const ids = batch.map(({ id }) => id)
        await tx.update(webhookMessages).set({ data }).where(inArray(webhookMessages.id, ids))
        // A receiver may quote the message in its response.
        const deliveries = tx
          .select({ id: webhookDeliveries.id })
          .from(webhookDeliveries)
          .where(inArray(webhookDeliveries.messageId, ids))
        await tx
          .update(webhookAttempts)
          .set({ reply: '' })
          .where(inArray(webhookAttempts.deliveryId, deliveries))
      }
    }
  }

  /** A guest's messages become the account's, so that they are erased with it. */
  async function mergeUsers(tx: Tx, guestId: string, userId: string) {
    await tx.update(webhookMessages).set({ userId }).where(eq(webhookMessages.userId, guestId))
  }

  /** Deletes messages after 30 days with their deliveries and attempts, and previous secrets that have expired. */
  async function clearOld(signal?: AbortSignal) {
    const at = now()
    const oldest = new Date(at.getTime() - KEPT_MS)
    const isOld = lt(webhookMessages.createdAt, oldest)
    const { id } = webhookMessages
    const deleteSome = async (tx: Tx) => {
      const rows = await tx.select({ id }).from(webhookMessages).where(isOld).limit(ROWS_AT_ONCE)
      const ids = rows.map((row) => row.id)
      if (ids.length > 0) await tx.delete(webhookMessages).where(inArray(id, ids))
      return ids.length
    }
    await repeatInBatches(db, ROWS_AT_ONCE, deleteSome, signal)
    await db.write(async (tx) => {
      await tx
        .update(webhookEndpoints)
        .set({ formerSecret: null, formerSecretUntil: null })
        .where(lt(webhookEndpoints.formerSecretUntil, at))
    })
  }
}
