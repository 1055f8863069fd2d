import {
  decoyHash,
  findHashKind,
  verificationMs,
} from '../../../lib/passwords/imported-password-hashes.ts'
import { isOwnHash } from '../../../lib/passwords/passwords.ts'
import type { Reader, Tx } from '../../../platform/db/db.ts'
import type { UsersDb } from '../schema.ts'

/** How much longer imported hashes may make a failed sign-in, in ms. */
const MAX_TOTAL_MS = 1_500
const MAX_KINDS = 16

export type HashKinds = ReturnType<typeof createHashKinds>

/** A failed sign-in verifies one hash of each kind, so that its time does not reveal whether the account exists. */
export function createHashKinds({ db }: { db: UsersDb }) {
  const { importedHashKinds } = db.tables
  const decoys = db.cached('imported hash kinds', async (from) =>
    (await readKinds(from)).map((kind) => ({ kind, decoy: decoyHash(kind) })),
  )
  return { decoysBeside, readKinds, add }

  /** The decoys to verify after `stored` did not match. Null is the decoy of our own hashes. */
  async function decoysBeside(stored: string | null): Promise<(string | null)[]> {
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

/** Whether an account's hash is of an import and has never matched: a match replaces it with a hash of our own. */
export function canReplace(stored: string | null | undefined, hash: string, kinds: Set<string>) {
  if (!stored || stored === hash || isOwnHash(stored)) return false
  return kinds.has(findHashKind(stored))
}

/** The kind that `hash` would add to `kinds`; null if it adds none, undefined if sign-ins would become too slow. */
export function findNewKind(hash: string, kinds: Set<string>): string | null | undefined {
  const kind = findHashKind(hash)
  if (kinds.has(kind)) return null
  if (kinds.size >= MAX_KINDS) return undefined
  const total = [...kinds, kind].reduce((sum, one) => sum + verificationMs(one), 0)
  return total > MAX_TOTAL_MS ? undefined : kind
}
