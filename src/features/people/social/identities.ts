import { and, asc, eq } from 'drizzle-orm'
import type { Tx } from '../../../db/db.ts'
import { unseal } from '../../../lib/seal.ts'
import { type PeopleOutbox, PRIORITY } from '../outbox-messages.ts'
import type { PeopleDb } from '../schema.ts'
import type { ProviderName } from './identity-providers.ts'

type IdentitiesDeps = { db: PeopleDb; outbox: PeopleOutbox; sealKey: Uint8Array }

export type Identities = ReturnType<typeof createIdentities>

type Row = PeopleDb['tables']['identities']['$inferSelect']

/** Accounts at identity providers that are linked to users. */
export function createIdentities({ db, outbox, sealKey }: IdentitiesDeps) {
  const { identities } = db.tables
  return { list, remove, removeAll }

  /** The identities of a user, for the export. */
  async function list(userId: string) {
    const rows = await db.read
      .select()
      .from(identities)
      .where(eq(identities.userId, userId))
      .orderBy(asc(identities.createdAt), asc(identities.provider), asc(identities.subject))
    return rows.map(({ provider, subject, email, grant, createdAt }) => ({
      provider,
      subject,
      email,
      holdsGrant: grant !== null,
      createdAt: createdAt.toISOString(),
    }))
  }

  /** Unlinks a provider from a user as part of the change. Returns how many identities went. */
  async function remove(tx: Tx, userId: string, provider: ProviderName): Promise<number> {
    const isSame = and(eq(identities.userId, userId), eq(identities.provider, provider))
    const removed = await tx.delete(identities).where(isSame).returning()
    await revokeGrants(tx, removed)
    return removed.length
  }

  /** Unlinks every provider, as part of the change. */
  async function removeAll(tx: Tx, userId: string) {
    const removed = await tx.delete(identities).where(eq(identities.userId, userId)).returning()
    await revokeGrants(tx, removed)
  }

  /** Leaves word for Apple that grants end. */
  async function revokeGrants(tx: Tx, rows: Row[]) {
    for (const { grant } of rows) {
      if (grant === null) continue
      const { clientId, token } = JSON.parse(unseal(sealKey, grant))
      // It outlives the account, and says nothing of it but to Apple.
      const handling = { priority: PRIORITY.notice, userId: null, source: null }
      await outbox.add(tx, { kind: 'apple-revocation', clientId, token }, handling)
    }
  }
}
