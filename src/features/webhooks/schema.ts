import type { Columns } from '../../platform/db/columns.ts'
import type { Db } from '../../platform/db/db.ts'

export type WebhooksDb = Db<ReturnType<typeof webhookTables>>

export function webhookTables(columns: Columns) {
  const { table, text, ownedBy, int, ms, json, index } = columns

  const webhookEndpoints = table('webhook_endpoints', {
    id: text().primaryKey(),
    url: text().notNull(),
    description: text().notNull(),
    /** The event types that it receives; `all` includes types that later versions add. */
    events: json<string[]>().notNull(),
    /** Sealed. */
    secret: text().notNull(),
    /** The secrets before the last rotations, sealed, separated by spaces; they sign until `formerSecretUntil`. */
    formerSecret: text(),
    formerSecretUntil: ms(),
    createdAt: ms().notNull(),
    /** When the first attempt after the last success failed. */
    failingSince: ms(),
    /** When the last attempt failed, to within an hour. */
    failedAt: ms(),
    /** Null while it is enabled. */
    disabledAt: ms(),
    /** `operator`, `gone` or `failing`. */
    disabledReason: text(),
  })

  /** Messages as they are sent. */
  const webhookMessages = table(
    'webhook_messages',
    {
      id: text().primaryKey(),
      type: text().notNull(),
      /** The user of the event. No foreign key: `user.deleted` outlives the user. */
      userId: text(),
      /** JSON, always sent with these bytes, because they are signed. */
      data: text().notNull(),
      createdAt: ms().notNull(),
    },
    (t) => [
      index('webhook_messages_user_created').on(t.userId, t.createdAt),
      index('webhook_messages_created').on(t.createdAt),
    ],
  )

  const webhookDeliveries = table(
    'webhook_deliveries',
    {
      id: text().primaryKey(),
      messageId: ownedBy(() => webhookMessages.id),
      endpointId: ownedBy(() => webhookEndpoints.id),
      /** `waiting`, `delivered` or `failed`. */
      state: text().notNull(),
      /** Attempts since it was created or resent. */
      attempts: int().notNull(),
      /** When the next attempt is due or, during an attempt, when its lease ends; null unless waiting. */
      dueAt: ms(),
    },
    (t) => [
      index('webhook_deliveries_message').on(t.messageId),
      index('webhook_deliveries_due').on(t.endpointId, t.dueAt),
      index('webhook_deliveries_endpoint').on(t.endpointId, t.id),
      index('webhook_deliveries_state').on(t.state, t.id),
      index('webhook_deliveries_endpoint_state').on(t.endpointId, t.state, t.id),
    ],
  )

  const webhookAttempts = table(
    'webhook_attempts',
    {
      id: text().primaryKey(),
      deliveryId: ownedBy(() => webhookDeliveries.id),
      at: ms().notNull(),
      /** Milliseconds until the end of the response. */
      duration: int().notNull(),
      /** Null if there was no response. */
      status: int(),
      /** Why it failed, in a sentence; null after a success. */
      fault: text(),
      reply: text().notNull(),
    },
    (t) => [index('webhook_attempts_delivery').on(t.deliveryId)],
  )

  return { webhookEndpoints, webhookMessages, webhookDeliveries, webhookAttempts }
}
