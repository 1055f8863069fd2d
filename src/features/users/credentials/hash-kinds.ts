import { decoyHash } from '../../../lib/passwords/imported-password-hashes.ts'
import type { Reader, Tx } from '../../../platform/db/db.ts'
import type { UsersDb } from '../schema.ts'

export type HashKinds = ReturnType<typeof createHashKinds>

/** A failed sign-in verifies one hash of each kind, so that its duration does not reveal whether the account exists. */
export function createHashKinds({ db }: { db: UsersDb }) {
  const { importedHashKinds } = db.tables
  const decoys = db.cached('imported hash kinds', async (from) =>
    (await readKinds(from)).map((kind) => ({ kind, decoy: decoyHash(kind) })),
  )
  return { listDecoys, readKinds, add }

  /** The decoys to verify after `stored` did not match. Null stands for the decoy of our own hashes. */
  async function listDecoys(stored: string | null): Promise<(string | null)[]> {
    const all = await decoys.read()
    const others = all.filter(({ kind }) => !stored?.startsWith(kind))
    const own = others.length < all.length ? [null] : []
    return [...others.map(({ decoy }) => decoy), ...own]
  }

  async function readKinds(from: Reader): Promise<string[]> {
    const rows = await from.select().from(importedHashKinds)
    return rows.map(({ kind }) => kind)
  }

  async function add(tx: Tx, kinds: string[]) {
    if (kinds.length === 0) return
    await tx
      .insert(importedHashKinds)
      .values(kinds.map((kind) => ({ kind })))
      .onConflictDoNothing()
    await decoys.invalidate(tx)
  }
}
