import { DataError } from './data-error.ts'
import type { SchemaChange } from './engine.ts'

/** Throws `DataError` where opening a database would change its schema and must not. */
export function refuseSchema(allowed: SchemaChange, applied: number, known: number) {
  if (applied > known)
    throw new DataError('The database was written by a newer homeport: start that version.')
  if (applied === known || allowed === 'migrate' || (applied === 0 && allowed === 'create')) return
  throw new DataError(
    applied === 0
      ? 'The database is empty: run "homeport init", or start the server.'
      : `The database has the schema of an older version (${applied} of ${known} migrations), which this command leaves alone: run "homeport migrate", or start the server.`,
  )
}
