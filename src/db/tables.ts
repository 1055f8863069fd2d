import { sqliteColumns } from './columns.ts'
import { buildTables } from './schema.ts'

/** drizzle-kit sees exported tables only, so each is named once more here. */
export const {
  users,
  sessions,
  refreshTokens,
  identities,
  oneTimeTokens,
  recoveryCodes,
  knownDevices,
  outbox,
  limits,
  settings,
  plans,
  faqs,
  contentVersions,
  rateSets,
  rates,
  rateFeeds,
  attachments,
  variants,
  uploadRetries,
  billingEvents,
  billingAliases,
  subscriptions,
  lineHolders,
  transferIds,
  billingTombstones,
  sealedRequests,
} = buildTables(sqliteColumns)
