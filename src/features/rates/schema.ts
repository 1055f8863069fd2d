import type { Columns } from '../../platform/db/columns.ts'
import type { Db } from '../../platform/db/db.ts'
import type { HeldRates } from './check-rates.ts'

export type RatesDb = Db<ReturnType<typeof rateTables>>

export function rateTables(columns: Columns) {
  const { table, text, ownedBy, real, ms, json, uniqueIndex, primaryKey } = columns

  const rateSets = table(
    'rate_sets',
    {
      id: text().primaryKey(),
      provider: text().notNull(),
      baseCode: text().notNull(),
      /** The provider's own date, `YYYY-MM-DD`. */
      date: text().notNull(),
      publishedAt: ms().notNull(),
      storedAt: ms().notNull(),
    },
    (t) => [uniqueIndex('rate_sets_date').on(t.provider, t.date)],
  )

  const rates = table(
    'rates',
    {
      setId: ownedBy(() => rateSets.id),
      code: text().notNull(),
      rate: real().notNull(),
    },
    (t) => [primaryKey({ columns: [t.setId, t.code] })],
  )

  /** The state of each rates provider; the row `current` names the served set. */
  const rateFeeds = table('rate_feeds', {
    provider: text().primaryKey(),
    setId: text().references(() => rateSets.id),
    etag: text(),
    lastModified: text(),
    succeededAt: ms(),
    /** The currencies whose last good rate is served instead of the published one. */
    held: json<HeldRates>(),
  })

  return { rateSets, rates, rateFeeds }
}
