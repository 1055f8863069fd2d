import { and, asc, eq } from 'drizzle-orm'
import { unseal } from '../../../lib/crypto/seal.ts'
import { toEmailKey } from '../../../lib/text/email-address.ts'
import type { Tx } from '../../../platform/db/db.ts'
import { PRIORITY, type UserOutbox } from '../email/outbox-messages.ts'
import type { UsersDb } from '../schema.ts'
import type { OwnsAddress, ProviderName } from './identity-providers.ts'

type IdentitiesDeps = {
  db: UsersDb
  outbox: UserOutbox
  sealKey: Uint8Array
  ownsAddress: OwnsAddress
}

export type Identities = ReturnType<typeof createIdentities>

type Row = UsersDb['tables']['identities']['$inferSelect']

export function createIdentities({ db, outbox, sealKey, ownsAddress }: IdentitiesDeps) {
  const { identities } = db.tables
  return { list, remove, removeAll, removeForeign }

  /** For the export. */
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

  /** In the caller's transaction. Returns the number of identities removed. */
  async function remove(tx: Tx, userId: string, provider: ProviderName): Promise<number> {
    const isSame = and(eq(identities.userId, userId), eq(identities.provider, provider))
    const removed = await tx.delete(identities).where(isSame).returning()
    await revokeGrants(tx, removed)
    return removed.length
  }

  /** In the caller's transaction. */
  async function removeAll(tx: Tx, userId: string) {
    const removed = await tx.delete(identities).where(eq(identities.userId, userId)).returning()
    await revokeGrants(tx, removed)
  }

  /**
   * In the caller's transaction: removes identities whose provider does not own the address. These include Workspace
   * addresses, whose `hd` is not stored: the next sign-in links them again.
   */
  async function removeForeign(tx: Tx, userId: string, emailKey: string | null) {
    const rows = await tx.select().from(identities).where(eq(identities.userId, userId))
    const foreign = rows.filter(
      ({ provider, email }) =>
        email === null || toEmailKey(email) !== emailKey || !ownsAddress(provider, email),
    )
    for (const { provider, subject } of foreign) {
      const isSame = and(eq(identities.provider, provider), eq(identities.subject, subject))
      await tx.delete(identities).where(isSame)
    }
    await revokeGrants(tx, foreign)
  }

  async function revokeGrants(tx: Tx, rows: Row[]) {
    for (const { grant } of rows) {
      if (grant === null) continue
      const { clientId, token } = JSON.parse(unseal(sealKey, grant))
      // The message outlives the account, so it does not contain the user's id.
      const handling = { priority: PRIORITY.notice, userId: null, source: null }
      await outbox.add(tx, { kind: 'apple-revocation', clientId, token }, handling)
    }
  }
}
