import type { Db, Tx } from '../platform/db/db.ts'
import type { UserTable } from '../platform/user-table.ts'

/** `listTables` lists users before the tables that refer to them; deletion and merging go in reverse. */
export function createUserData(db: Db<unknown>, listTables: () => UserTable[]) {
  return { deleteAccount, exportData, mergeGuest }

  /** Deletes the account and its data in one transaction that begins with `before`, and its files after the commit. */
  async function deleteAccount(userId: string, before: (tx: Tx) => Promise<void>) {
    const deleteFiles = await db.write(async (tx) => {
      await before(tx)
      const afterCommit: (() => Promise<void>)[] = []
      for (const { deletion } of listTables().toReversed()) {
        const effect = typeof deletion === 'function' ? await deletion(tx, userId) : undefined
        if (effect) afterCommit.push(effect)
      }
      return afterCommit
    })
    for (const deleteFile of deleteFiles) await deleteFile()
  }

  /** Everything that is stored about a user and that deleting the account would remove. */
  async function exportData(userId: string): Promise<Record<string, unknown>> {
    const exported: Record<string, unknown> = {}
    for (const { export: members } of listTables()) {
      for (const [name, read] of Object.entries(members)) {
        if (typeof read === 'function') exported[name] = await read(userId)
      }
    }
    return exported
  }

  /** Merges the guest's data into the account, in the transaction `tx`. */
  async function mergeGuest(tx: Tx, guestId: string, userId: string) {
    for (const { merging } of listTables().toReversed()) {
      if (typeof merging === 'function') await merging(tx, guestId, userId)
    }
  }
}
