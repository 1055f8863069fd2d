import { inArray } from 'drizzle-orm'
import { decodePeriods } from '../../billing/business/periods.ts'
import type { StoresDb } from '../schema.ts'

type Payment = { amount: number; currency: string }

/** The payment for the latest period of each purchase, by key; known once the business figures have counted it. */
export async function readLastPayments(db: StoresDb, purchases: { purchaseKey: string }[]) {
  const { purchasePeriods } = db.tables
  const keys = purchases.map(({ purchaseKey }) => purchaseKey)
  const rows = await db.read
    .select()
    .from(purchasePeriods)
    .where(inArray(purchasePeriods.purchaseKey, keys))
  return new Map(
    rows.flatMap(({ purchaseKey, periods }): [string, Payment][] => {
      const { amount = null, currency = '' } = decodePeriods(periods).at(-1) ?? {}
      // A trial may have no currency.
      const isKnown = amount !== null && currency !== ''
      return isKnown ? [[purchaseKey, { amount: amount / 1000, currency }]] : []
    }),
  )
}
