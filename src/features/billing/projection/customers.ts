import { inArray } from 'drizzle-orm'
import type { Tx } from '../../../platform/db/db.ts'
import { linkedIds, type OrderedEvent } from '../purchases/event-order.ts'
import type { BillingDb } from '../schema.ts'
import type { ProjectionQueries } from './queries.ts'

export type Customers = ReturnType<typeof createCustomers>

/** Up to this many ids are looked up one by one, with a prepared query; more are looked up in a single query. */
const MAX_SEPARATE_LOOKUPS = 4

type CustomersDeps = {
  db: BillingDb
  queries: ProjectionQueries
  onChange: (tx: Tx, customerId: string) => void
}

export function createCustomers({ db, queries, onChange }: CustomersDeps) {
  const { billingAliases, transferIds } = db.tables
  const { findAlias, insertAlias, countIds } = queries
  return { link, findCustomers }

  /** Joins the ids of an event into one customer. Returns the customers whose purchases may have a new owner. */
  async function link(tx: Tx, event: OrderedEvent): Promise<string[]> {
    const ids = linkedIds(event)
    if (ids.length === 0) return []
    const known = await knownCustomers(tx, ids)
    const customers = [...new Set(known.values())].toSorted()
    const missing = ids.filter((id) => !known.has(id)).toSorted()
    const customerId = await findSurvivor(
      tx,
      customers.length > 0 ? customers : missing.slice(0, 1),
    )
    await storeAliases(tx, missing, customerId)
    const others = customers.filter((id) => id !== customerId)
    if (missing.length > 0 || others.length > 0) onChange(tx, customerId)
    if (others.length === 0) return []
    for (const table of [billingAliases, transferIds]) {
      await tx.update(table).set({ customerId }).where(inArray(table.customerId, others))
    }
    return [customerId, ...others]
  }

  /** The customer with the most ids keeps its id, so that each app user id is reassigned only a few times. */
  async function findSurvivor(tx: Tx, customers: string[]): Promise<string> {
    const [first = '', ...others] = customers
    if (others.length === 0) return first
    let survivor = { customerId: first, size: 0 }
    for (const customerId of customers) {
      const [row] = await countIds(tx).execute({ customerId })
      const size = Number(row?.size)
      if (size > survivor.size) survivor = { customerId, size }
    }
    return survivor.customerId
  }

  /** The customers of app user ids; an id that was never seen is its own customer. */
  async function findCustomers(tx: Tx, ids: string[]): Promise<Map<string, string>> {
    const known = await knownCustomers(tx, ids)
    return new Map(ids.map((id) => [id, known.get(id) ?? id]))
  }

  async function knownCustomers(tx: Tx, ids: string[]): Promise<Map<string, string>> {
    const rows =
      ids.length > MAX_SEPARATE_LOOKUPS
        ? await tx.select().from(billingAliases).where(inArray(billingAliases.appUserId, ids))
        : await findEach(tx, ids)
    return new Map(rows.map(({ appUserId, customerId }) => [appUserId, customerId]))
  }

  async function findEach(tx: Tx, ids: string[]) {
    const rows = []
    for (const appUserId of ids) rows.push((await findAlias(tx, { appUserId })) ?? [])
    return rows.flat()
  }

  async function storeAliases(tx: Tx, ids: string[], customerId: string) {
    if (ids.length > MAX_SEPARATE_LOOKUPS) {
      await tx.insert(billingAliases).values(ids.map((appUserId) => ({ appUserId, customerId })))
    } else for (const id of ids) await insertAlias(tx, { appUserId: id, customerId })
  }
}
