import type { SecretName, Secrets } from '../../config/secrets.ts'
import { CommandError } from '../../lib/command.ts'
import type { OpenDb } from '../../platform/db/db.ts'
import type { Tables } from '../../server/features.ts'

/** `resume` also opens a database that a newer version migrated before it failed to start. */
export type SchemaChange = 'migrate' | 'resume' | 'create' | 'none'

/** A database with an up-to-date schema, and its secrets. */
export type Engine = {
  db: OpenDb<Tables>
  /** The tags of the migrations that were applied when it was opened. */
  migrated: string[]
  /** Lost secrets that were replaced, and what stops working as a result. */
  replaced: { name: SecretName; breaks: string }[]
  secrets: Secrets
} & AsyncDisposable

/** Throws `CommandError` when opening the database would change its schema more than `allowed`. */
export function assertSchemaChangeAllowed(allowed: SchemaChange, applied: number, known: number) {
  if (allowed === 'resume') return
  if (applied > known)
    throw new CommandError('The database was written by a newer homeport: start that version.')
  if (applied === known || allowed === 'migrate' || (applied === 0 && allowed === 'create')) return
  throw new CommandError(
    applied === 0
      ? 'The database is empty: run "homeport init", or start the server.'
      : `The database has the schema of an older version (${applied} of ${known} migrations), which this command does not change: run "homeport migrate", or start the server.`,
  )
}
