import { and, desc, eq, ne, type SQL } from 'drizzle-orm'
import type { Reader } from '../../../platform/db/db.ts'
import type { ExistingUsers } from '../../../platform/user-table.ts'
import type { BillingDb } from '../schema.ts'

type HoldersDeps = {
  db: BillingDb
  existingUsers: ExistingUsers
}

export type Holders = ReturnType<typeof createHolders>

/** Finds which of a customer's users the purchases count for. */
export function createHolders({ db, existingUsers }: HoldersDeps) {
  const { billingAliases, billingEvents } = db.tables
  return { holderOf, holderAmong, latestOf }

  /** The user for whom a customer's purchases count; null for none. */
  async function holderOf(from: Reader, customerId: string): Promise<string | null> {
    const rows = await from
      .select({ id: billingAliases.appUserId })
      .from(billingAliases)
      .where(eq(billingAliases.customerId, customerId))
    const users = await existingUsers(
      from,
      rows.map(({ id }) => id),
    )
    return holderAmong(from, users)
  }

  /** Which of a customer's `users` the purchases count for; null for none. */
  async function holderAmong(from: Reader, users: string[]): Promise<string | null> {
    return users.length > 1 ? latestOf(from, users) : (users[0] ?? null)
  }

  /**
   * The id that the latest event names; null if none names one of `ids`. The id that an app passed to a store at the
   * purchase is only a hint: it counts if no other event names one of them.
   */
  async function latestOf(from: Reader, ids: string[]): Promise<string | null> {
    const isNoHint = and(
      eq(billingEvents.provider, 'revenuecat'),
      ne(billingEvents.outcome, 'ignored'),
    )
    return (await latestAmong(from, ids, isNoHint)) ?? latestAmong(from, ids)
  }

  async function latestAmong(from: Reader, ids: string[], condition?: SQL) {
    let latest: { appUserId: string | null; orderedAt: number } | undefined
    for (const id of ids.toSorted().toReversed()) {
      const [row] = await from
        .select({ appUserId: billingEvents.appUserId, orderedAt: billingEvents.orderedAt })
        .from(billingEvents)
        .where(and(eq(billingEvents.appUserId, id), condition))
        .orderBy(desc(billingEvents.orderedAt))
        .limit(1)
      if (row && (latest === undefined || row.orderedAt > latest.orderedAt)) latest = row
    }
    return latest?.appUserId ?? null
  }
}
