import { and, desc, eq, sql } from 'drizzle-orm'
import type { Tx } from '../../../platform/db/db.ts'
import type { Delivery } from '../../billing/inbox/event.ts'
import type { EventInbox } from '../../billing/inbox/event-inbox.ts'
import { findPurchaseKey } from '../../billing/purchases/event-order.ts'
import type { StoresDb } from '../schema.ts'

type StoreSnapshotsDeps = { db: StoresDb; eventInbox: Pick<EventInbox, 'recordOnce'> }

export type StoreSnapshots = ReturnType<typeof createStoreSnapshots>

/** Records the stores' responses to queries. */
export function createStoreSnapshots({ db, eventInbox }: StoreSnapshotsDeps) {
  const { billingEvents } = db.tables
  const { bodyHash, orderedAt } = billingEvents
  const findLatest = db.prepareWrite((tx) =>
    tx
      .select({ bodyHash, orderedAt })
      .from(billingEvents)
      .where(
        and(
          eq(billingEvents.purchaseKey, sql.placeholder('purchaseKey')),
          eq(billingEvents.provider, sql.placeholder('provider')),
        ),
      )
      .orderBy(desc(orderedAt))
      .limit(1),
  )
  return { record, latestAt }

  /** Skips a snapshot with the same content as the store's latest event about the purchase. */
  async function record(tx: Tx, delivery: Delivery) {
    const latest = await find(tx, delivery.provider, findPurchaseKey(delivery.event) ?? '')
    if (latest?.bodyHash !== delivery.hash) await eventInbox.recordOnce(tx, delivery)
  }

  /** The time of the store's latest event, in ms; 0 for none. */
  async function latestAt(tx: Tx, provider: Provider, purchaseKey: string): Promise<number> {
    return (await find(tx, provider, purchaseKey))?.orderedAt ?? 0
  }

  async function find(tx: Tx, provider: Provider, purchaseKey: string) {
    return (await findLatest(tx).execute({ purchaseKey, provider }))[0]
  }
}

type Provider = Delivery['provider']
export type RecordSnapshot = StoreSnapshots['record']
