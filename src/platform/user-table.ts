import type { Reader, Tx } from './db/db.ts'

export type ExistingUsers = (from: Reader, ids: string[]) => Promise<string[]>

/** How a user's rows in a table are deleted, exported and merged. A test requires it for every table of user data. */
export type UserTable = {
  /** Runs within the change that deletes the account; the function it returns runs after the commit. */
  deletion: ((tx: Tx, userId: string) => Promise<void> | Promise<() => Promise<void>>) | Nothing
  /** Members of the export, by name. */
  export: Record<string, (userId: string) => Promise<unknown>> | Nothing
  /** Moves a guest's rows to the account that the guest signs in to. */
  merging: ((tx: Tx, guestId: string, userId: string) => Promise<void>) | Nothing
}

/** No action is needed, for the given reason. */
type Nothing = { nothing: string }

export function nothing(reason: string): Nothing {
  return { nothing: reason }
}

/** The database deletes the rows with the user: the foreign key cascades. */
export const byForeignKey = nothing('the foreign key deletes the rows with the user')
