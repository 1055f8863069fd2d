import { sql } from 'drizzle-orm'
import type { Scope } from '../../lib/scopes.ts'
import type { Columns } from '../../platform/db/columns.ts'
import type { Db } from '../../platform/db/db.ts'

export type ApiKeysDb = Db<ReturnType<typeof apiKeyTables>>

export function apiKeyTables(columns: Columns) {
  const { table, text, int, ms, json, uniqueIndex } = columns

  const apiKeys = table(
    'api_keys',
    {
      id: text().primaryKey(),
      name: text().notNull(),
      /** The first characters of the key, by which operators recognize it. */
      prefix: text().notNull(),
      /** SHA-256 of the key, base64url. The key itself is never stored. */
      hash: text().notNull(),
      scopes: json<Scope[]>().notNull(),
      /** IP addresses and networks such as `10.0.0.0/8` that may use the key; empty for all. */
      networks: json<string[]>().notNull(),
      /** Null for no limit. */
      requestsPerMinute: int(),
      createdAt: ms().notNull(),
      expiresAt: ms(),
      revokedAt: ms(),
      /** To the minute. */
      lastUsedAt: ms(),
    },
    (t) => [
      // A new key may have the name of a revoked one.
      uniqueIndex('api_keys_name').on(t.name).where(sql`${t.revokedAt} IS NULL`),
      uniqueIndex('api_keys_hash').on(t.hash),
    ],
  )

  return { apiKeys }
}
