import type { Columns } from '../../platform/db/columns.ts'
import type { Db } from '../../platform/db/db.ts'
import type { billingTables } from '../billing/schema.ts'
import type { KnownItem } from './google/snapshot.ts'
import { stripeTables } from './stripe/schema.ts'

export type StoresDb = Db<ReturnType<typeof billingTables> & ReturnType<typeof storeTables>>

export function storeTables(columns: Columns) {
  const { table, text, int, bool, ms, json, index, primaryKey } = columns

  /** Purchases to check with their store once their period has ended without an event. */
  const storeChecks = table(
    'store_checks',
    {
      purchaseKey: text('line_key').primaryKey(),
      dueAt: ms().notNull(),
      /** Checks since the end of the period. */
      attempts: int().notNull(),
      /** Whether the store must still be told who owns the purchase. */
      isTokenUnset: bool().notNull(),
    },
    (t) => [index('store_checks_due').on(t.dueAt)],
  )

  /** The time up to which a store's history of notifications has been read; one row per app and environment. */
  const storeHistory = table('store_history', {
    id: text().primaryKey(),
    completeUntil: ms().notNull(),
  })

  /** When a store's last notification arrived, to the minute; one row per app and environment. */
  const storeNotifications = table('store_notifications', {
    id: text().primaryKey(),
    lastAt: ms().notNull(),
  })

  /** The purchases at Google Play, and when to query Google about each. */
  const playPurchases = table(
    'play_purchases',
    {
      /** SHA-256 of the purchase token, hex. */
      tokenHash: text().primaryKey(),
      /** Encrypted with the seal key; empty once the purchase has expired at Google. */
      sealedToken: text().notNull(),
      packageName: text().notNull(),
      /** `subscription` or `one_time`; null until Google has been queried. */
      kind: text(),
      productId: text(),
      /** The key of the first product's purchase without its environment; null until it is paid. */
      line: text(),
      items: json<KnownItem[]>().notNull(),
      linkedHash: text(),
      urgency: int().notNull(),
      /** When to query Google; null: not again. */
      dueAt: ms(),
      /** Changes with each notification: a notification during a request causes another request. */
      mark: text().notNull(),
      /** Until then, one instance is querying Google. */
      leasedUntil: ms().notNull(),
      /** Attempts that got no response, or a response without the change that was due. */
      attempts: int().notNull(),
      /** How many times Google had no record of the purchase. */
      misses: int().notNull(),
      askedAt: ms(),
      /** When the purchase was paid, as long as it is not acknowledged. */
      unacknowledgedSince: ms(),
      goneAt: ms(),
    },
    (t) => [
      index('play_purchases_due').on(t.urgency, t.dueAt),
      index('play_purchases_line').on(t.line),
      index('play_purchases_unacknowledged').on(t.unacknowledgedSince),
    ],
  )

  /** Submitted Google purchases that could not be claimed yet. */
  const playClaims = table(
    'play_claims',
    {
      tokenHash: text().notNull(),
      userId: text().notNull(),
      takeOver: bool().notNull(),
      expiresAt: ms().notNull(),
    },
    (t) => [
      primaryKey({ columns: [t.tokenHash, t.userId] }),
      index('play_claims_user').on(t.userId),
    ],
  )

  return {
    storeChecks,
    storeHistory,
    storeNotifications,
    playPurchases,
    playClaims,
    ...stripeTables(columns),
  }
}
