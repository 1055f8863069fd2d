import { and, eq, isNull } from 'drizzle-orm'
import type { Tx } from '../../../platform/db/db.ts'
import type { OneTimeTokens } from '../credentials/one-time-tokens.ts'
import type { UsersDb } from '../schema.ts'
import type { SessionEnd, SessionEndings } from '../sessions/session-endings.ts'
import type { Identities } from '../social/identities.ts'
import type { Account } from './accounts.ts'

type AccountSecurityDeps = {
  db: UsersDb
  endings: SessionEndings
  identities: Identities
  oneTimeTokens: OneTimeTokens
}

export type AccountSecurity = ReturnType<typeof createAccountSecurity>

/** What every act that recovers or secures an account does, so that nothing begun before outlives it. */
export function createAccountSecurity({
  db,
  endings,
  identities,
  oneTimeTokens,
}: AccountSecurityDeps) {
  const { users, recoveryCodes, knownDevices } = db.tables
  return { secure, signOut, endOtherSessions, removeUntrustedSignIns }

  /**
   * Ends the sessions of a user but `keptSession` (null: all) and voids the one-time tokens and pending
   * changes that a thief could have asked for, as part of the change that secures the account.
   */
  async function secure(
    tx: Tx,
    userId: string,
    keptSession: string | null,
    reason: SessionEnd = 'revoked',
  ) {
    if (keptSession === null) await endings.endAll(tx, userId, reason)
    else await endings.endOthers(tx, userId, keptSession, reason)
    await oneTimeTokens.revoke(tx, userId)
    await tx
      .update(users)
      .set({ twoFactorSecret: null })
      .where(and(eq(users.id, userId), isNull(users.twoFactorSince)))
  }

  /** Ends all sessions because an operator says so. */
  async function signOut(userId: string) {
    await db.write((tx) => secure(tx, userId, null))
  }

  /** Ends the other devices' sessions because their owner says so. */
  async function endOtherSessions(userId: string, sessionId: string) {
    await db.write((tx) => secure(tx, userId, sessionId, 'signed_out'))
  }

  /**
   * Removes what may let a stranger sign in after the mailbox's owner took the account: every way that was
   * set up before anybody had verified the address, and links of people whose provider does not own it,
   * whose word was once enough. The caller sets a new password and secures the account.
   */
  async function removeUntrustedSignIns(
    tx: Tx,
    { id: userId, emailKey, emailVerifiedAt }: Account,
  ) {
    if (emailVerifiedAt !== null) return identities.removeForeign(tx, userId, emailKey)
    const off = { twoFactorSecret: null, twoFactorSince: null, twoFactorStep: null }
    await tx.update(users).set(off).where(eq(users.id, userId))
    await identities.removeAll(tx, userId)
    for (const table of [recoveryCodes, knownDevices]) {
      await tx.delete(table).where(eq(table.userId, userId))
    }
  }
}
