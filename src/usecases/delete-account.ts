import type { Db, Tx } from '../platform/db/db.ts'

/** What each feature does when a person goes, as part of the change, and what it leaves for after the commit. */
type DeleteAccountDeps = {
  db: Db<unknown>
  unlinkProviders: (tx: Tx, userId: string) => Promise<void>
  pseudonymizeBilling: (tx: Tx, userId: string) => Promise<void>
  /** Returns what removes the files themselves. */
  removeAttachments: (tx: Tx, userId: string) => Promise<() => Promise<void>>
  removeUser: (tx: Tx, userId: string) => Promise<void>
}

/** Takes everything of a person in one change, and what lies outside of the database after it. */
export function createDeleteAccount(deps: DeleteAccountDeps) {
  const { db, unlinkProviders, pseudonymizeBilling, removeAttachments, removeUser } = deps
  return async (userId: string) => {
    const removeFiles = await db.write(async (tx) => {
      const finish = await removeAttachments(tx, userId)
      await unlinkProviders(tx, userId)
      await pseudonymizeBilling(tx, userId)
      await removeUser(tx, userId)
      return finish
    })
    await removeFiles()
  }
}
