import { sqliteColumns } from './columns.ts'
import { buildTables } from './schema.ts'

/** drizzle-kit sees exported tables only, so each is named once more here. */
export const {
  users,
  sessions,
  refreshTokens,
  settings,
  plans,
  faqs,
  contentVersions,
  rateSets,
  rates,
  rateFeeds,
  attachments,
  billingEvents,
} = buildTables(sqliteColumns)
