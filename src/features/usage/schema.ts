import type { Columns, UsersTable } from '../../platform/db/columns.ts'
import type { Db } from '../../platform/db/db.ts'

export type UsageDb = Db<ReturnType<typeof usageTables>>

export function usageTables(columns: Columns, users: UsersTable) {
  const { table, text, ownedBy, int, ms, json, index, primaryKey } = columns

  /** Usage in periods that have not ended: one row per user and limit, or more after a change of plan. */
  const usageCounters = table(
    'usage_counters',
    {
      userId: ownedBy(() => users.id),
      name: text().notNull(),
      startsAt: ms().notNull(),
      /** Null if the period never ends. */
      endsAt: ms(),
      used: int().notNull(),
      /** The limit that was reached in this period, so that it is reported once. */
      reachedLimit: int(),
    },
    (t) => [
      primaryKey({ columns: [t.userId, t.name, t.startsAt] }),
      index('usage_counters_most').on(t.name, t.used),
      index('usage_counters_end').on(t.endsAt),
    ],
  )

  /** What all owners of a purchase have used in periods that have not ended. */
  const purchaseUsage = table(
    'purchase_usage',
    {
      /** The hash of the purchase's key in the billing feature. */
      purchaseKey: text().notNull(),
      name: text().notNull(),
      startsAt: ms().notNull(),
      /** Null if the period never ends. */
      endsAt: ms(),
      used: int().notNull(),
    },
    (t) => [
      primaryKey({ columns: [t.purchaseKey, t.name, t.startsAt] }),
      index('purchase_usage_end').on(t.endsAt),
    ],
  )

  const usageHistory = table(
    'usage_history',
    {
      userId: ownedBy(() => users.id),
      name: text().notNull(),
      /** Such as `2026-07`, in UTC. */
      month: text().notNull(),
      used: int().notNull(),
    },
    (t) => [
      primaryKey({ columns: [t.userId, t.name, t.month] }),
      index('usage_history_month').on(t.month),
    ],
  )

  const usageRequests = table(
    'usage_requests',
    {
      userId: ownedBy(() => users.id),
      key: text().notNull(),
      /** SHA-256 of the request. */
      hash: text().notNull(),
      outcome: json<unknown>().notNull(),
      at: ms().notNull(),
    },
    (t) => [primaryKey({ columns: [t.userId, t.key] }), index('usage_requests_at').on(t.at)],
  )

  return { usageCounters, purchaseUsage, usageHistory, usageRequests }
}
