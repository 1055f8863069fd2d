import { and, desc, eq, ne, type SQL, sql } from 'drizzle-orm'
import type { Reader } from '../../../platform/db/db.ts'
import { prepareSelect } from '../../../platform/db/prepared.ts'
import type { ExistingUsers } from '../../../platform/user-table.ts'
import { PURCHASE_CLAIMED } from '../purchases/event-types.ts'
import type { BillingDb } from '../schema.ts'

type HoldersDeps = {
  db: BillingDb
  existingUsers: ExistingUsers
}

type Mention = {
  appUserId: string | null
  orderedAt: number
  provider: string
  purchaseKey: string | null
}

export type Holders = ReturnType<typeof createHolders>

export function createHolders({ db, existingUsers }: HoldersDeps) {
  const { billingAliases, billingEvents } = db.tables
  const findIds = prepareSelect(db, (from) =>
    from
      .select({ id: billingAliases.appUserId })
      .from(billingAliases)
      .where(eq(billingAliases.customerId, sql.placeholder('customerId'))),
  )
  return { findCustomerUser, holderAmong, findLatest }

  /** The user who has a customer's purchases; null for none. */
  async function findCustomerUser(from: Reader, customerId: string): Promise<string | null> {
    const rows = await findIds(from).execute({ customerId })
    const users = await existingUsers(
      from,
      rows.map(({ id }) => id),
    )
    return holderAmong(from, users)
  }

  async function holderAmong(from: Reader, users: string[]): Promise<string | null> {
    return users.length > 1 ? findLatest(from, users) : (users[0] ?? null)
  }

  /** The one of `ids` that the latest event names; null if no event names any of them. */
  async function findLatest(from: Reader, ids: string[]): Promise<string | null> {
    let latest: Mention | undefined
    for (const id of ids.toSorted().toReversed()) {
      const row = await findLatestMention(from, id)
      if (row && (latest === undefined || row.orderedAt > latest.orderedAt)) latest = row
    }
    return latest?.appUserId ?? null
  }

  /** The latest event that names an id. A suggested owner counts only until a user claims the purchase. */
  async function findLatestMention(from: Reader, id: string): Promise<Mention | undefined> {
    const isOfUser = eq(billingEvents.appUserId, id)
    const mention = await findNewest(from, isOfUser)
    const isSuggestion = mention !== undefined && mention.provider !== 'revenuecat'
    if (!isSuggestion || !(await isClaimed(from, mention.purchaseKey))) return mention
    return findNewest(from, and(isOfUser, eq(billingEvents.provider, 'revenuecat')))
  }

  async function isClaimed(from: Reader, purchaseKey: string | null): Promise<boolean> {
    if (purchaseKey === null) return false
    const isClaim = eq(billingEvents.type, PURCHASE_CLAIMED)
    const claim = await findNewest(from, and(eq(billingEvents.purchaseKey, purchaseKey), isClaim))
    return claim !== undefined
  }

  async function findNewest(from: Reader, condition?: SQL): Promise<Mention | undefined> {
    const { appUserId, orderedAt, provider, purchaseKey, outcome } = billingEvents
    const [row] = await from
      .select({ appUserId, orderedAt, provider, purchaseKey })
      .from(billingEvents)
      .where(and(condition, ne(outcome, 'ignored')))
      .orderBy(desc(orderedAt))
      .limit(1)
    return row
  }
}
