import type { Tx } from './db/db.ts'

/** What happens to a user's rows of one table. A table whose rows name a user and that declares nothing fails a test. */
export type UserTable = {
  /** Runs within the change that deletes the account; what it returns runs after the commit. */
  deletion: ((tx: Tx, userId: string) => Promise<void> | Promise<() => Promise<void>>) | Nothing
  /** Members of the export, by name. */
  export: Record<string, (userId: string) => Promise<unknown>> | Nothing
  /** Gives a guest's rows to the account that the guest signs in to. */
  merging: ((tx: Tx, guestId: string, userId: string) => Promise<void>) | Nothing
}

/** Nothing is done, for a reason. */
type Nothing = { nothing: string }

export function nothing(reason: string): Nothing {
  return { nothing: reason }
}

/** The database deletes the rows with the user: the foreign key cascades. */
export const byForeignKey = nothing('the foreign key deletes the rows with the user')
