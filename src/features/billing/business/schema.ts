import { sql } from 'drizzle-orm'
import type { Columns } from '../../../platform/db/columns.ts'

export function businessTables(columns: Columns) {
  const { table, text, int, index, primaryKey } = columns

  const purchasePeriods = table(
    'purchase_periods',
    {
      purchaseKey: text('line_key').primaryKey(),
      /** As `encodePeriods` writes them. */
      periods: text().notNull(),
      replacedBy: text(),
    },
    (t) => [
      index('purchase_periods_replaced').on(t.replacedBy).where(sql`${t.replacedBy} IS NOT NULL`),
    ],
  )

  const businessSums = table(
    'business_sums',
    {
      environment: text().notNull(),
      /** The figure, its breakdown if any, and `day` or `month`: `new.country.month`. */
      series: text().notNull(),
      /** `2026-10-31` or `2026-10`. */
      period: text().notNull(),
      /** The currency, the offer, the store or the country. */
      item: text().notNull(),
      /** A number, or an amount in thousandths of the currency. */
      sum: int().notNull(),
    },
    (t) => [primaryKey({ columns: [t.environment, t.series, t.period, t.item] })],
  )

  /** Purchases to count again, even without a new event. */
  const changedPurchases = table('changed_purchases', {
    purchaseKey: text('line_key').primaryKey(),
    /** A change during counting increases it, so that the row is kept. */
    changes: int().notNull(),
  })

  return { purchasePeriods, businessSums, changedPurchases }
}
