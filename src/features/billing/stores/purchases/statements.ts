import { and, desc, eq } from 'drizzle-orm'
import type { Tx } from '../../../../platform/db/db.ts'
import type { Delivery } from '../../inbox/event.ts'
import type { Billing } from '../../inbox/event-inbox.ts'
import { purchaseKeyOf } from '../../purchases/event-order.ts'
import type { BillingDb } from '../../schema.ts'

type StatementsDeps = { db: BillingDb; billing: Pick<Billing, 'recordIn'> }

/** Records what a store says about a purchase when asked. Does nothing if its latest event said the same. */
export function createStatements({ db, billing }: StatementsDeps) {
  const { billingEvents } = db.tables
  return async (tx: Tx, delivery: Delivery) => {
    const purchaseKey = purchaseKeyOf(delivery.event) ?? ''
    const [latest] = await tx
      .select({ bodyHash: billingEvents.bodyHash })
      .from(billingEvents)
      .where(
        and(
          eq(billingEvents.purchaseKey, purchaseKey),
          eq(billingEvents.provider, delivery.provider),
        ),
      )
      .orderBy(desc(billingEvents.orderedAt))
      .limit(1)
    if (latest?.bodyHash !== delivery.hash) await billing.recordIn(tx, delivery)
  }
}

export type RecordStatement = ReturnType<typeof createStatements>
