import type { Columns } from './sqlite/columns.ts'

/** What payload encryption keeps. */
export function buildEncryptionTables({ table, text, ms }: Columns) {
  /** Sealed requests that were carried out, by the hash of their id, so that none is twice. */
  const sealedRequests = table('sealed_requests', {
    id: text().primaryKey(),
    forgetAt: ms().notNull(),
  })
  return { sealedRequests }
}
