import { desc, eq } from 'drizzle-orm'
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

  /** The id that the latest event names; null if none names one of `ids`. */
  async function latestOf(from: Reader, ids: string[]): Promise<string | null> {
    let latest: { appUserId: string | null; orderedAt: number } | undefined
    for (const id of ids.toSorted().toReversed()) {
      const [row] = await from
        .select({ appUserId: billingEvents.appUserId, orderedAt: billingEvents.orderedAt })
        .from(billingEvents)
        .where(eq(billingEvents.appUserId, id))
        .orderBy(desc(billingEvents.orderedAt))
        .limit(1)
      if (row && (latest === undefined || row.orderedAt > latest.orderedAt)) latest = row
    }
    return latest?.appUserId ?? null
  }
}
