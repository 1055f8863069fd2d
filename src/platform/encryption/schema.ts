import type { Columns } from '../db/columns.ts'
import type { Db } from '../db/db.ts'

export type EncryptionDb = Db<ReturnType<typeof encryptionTables>>

export function encryptionTables({ table, text, ms }: Columns) {
  /** Sealed requests that were executed, by the hash of their id. */
  const sealedRequests = table('sealed_requests', {
    id: text().primaryKey(),
    forgetAt: ms().notNull(),
  })
  return { sealedRequests }
}
