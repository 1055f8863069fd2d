import { CommandError } from '../lib/command.ts'
import type { KeptText } from '../lib/key-ring.ts'
import type { OpenDb } from '../platform/db/db.ts'
import type { SecretName } from '../secrets.ts'
import type { Tables } from '../server/features.ts'

/** What opening may do to a schema: bring it up to date, make it in an empty database, or nothing. */
export type SchemaChange = 'migrate' | 'create' | 'none'

/** A database whose schema is up to date, and the place of the secrets that belong to it. */
export type Engine = {
  db: OpenDb<Tables>
  /** The tags of the migrations that it has had now. */
  migrated: string[]
  /** Secrets that were lost and are made anew, and what that breaks. */
  replaced: { name: SecretName; breaks: string }[]
  keep: (name: SecretName) => KeptText
} & AsyncDisposable

/** Throws `CommandError` where opening a database would change its schema and must not. */
export function refuseSchema(allowed: SchemaChange, applied: number, known: number) {
  if (applied > known)
    throw new CommandError('The database was written by a newer homeport: start that version.')
  if (applied === known || allowed === 'migrate' || (applied === 0 && allowed === 'create')) return
  throw new CommandError(
    applied === 0
      ? 'The database is empty: run "homeport init", or start the server.'
      : `The database has the schema of an older version (${applied} of ${known} migrations), which this command leaves alone: run "homeport migrate", or start the server.`,
  )
}
