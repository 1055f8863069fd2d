import { and, eq, isNull } from 'drizzle-orm'
import type { Tx } from '../../../platform/db/db.ts'
import type { UsersContext } from '../context/context.ts'
import type { OneTimeTokens } from '../credentials/one-time-tokens.ts'
import type { SessionEndings, SessionEndReason } from '../sessions/session-endings.ts'
import type { Account, LoginType } from './accounts.ts'

export type AccountSecurity = ReturnType<typeof createAccountSecurity>

export function createAccountSecurity(
  deps: UsersContext & { endings: SessionEndings; oneTimeTokens: OneTimeTokens },
) {
  const { db, accounts, endings, identities, oneTimeTokens, now } = deps
  const { users, sessions, passkeys, recoveryCodes, knownDevices } = db.tables
  return { secure, upgradeGuest, claim, signOut, endOtherSessions, removeUntrustedSignInMethods }

  /**
   * In the caller's transaction: ends all sessions except `keptSession`, and revokes links and codes that a thief could
   * have requested.
   */
  async function secure(
    tx: Tx,
    userId: string,
    keptSession: string | null,
    reason: SessionEndReason = 'revoked',
  ) {
    if (keptSession === null) await endings.endAll(tx, userId, reason)
    else await endings.endOthers(tx, userId, keptSession, reason)
    await oneTimeTokens.revoke(tx, userId)
    await tx
      .update(users)
      .set({ twoFactorSecret: null })
      .where(and(eq(users.id, userId), isNull(users.twoFactorSince)))
  }

  /**
   * Keeps the id, and with it files and purchases. Ends the guest's sessions except `keptSession`: a token stolen from
   * one would control the account.
   */
  async function upgradeGuest(
    tx: Tx,
    guest: Account,
    loginType: LoginType,
    login: Partial<Account>,
    keptSession: string | null = null,
  ): Promise<Account> {
    await secure(tx, guest.id, keptSession)
    if (keptSession !== null) {
      const isKept = eq(sessions.id, keptSession)
      await tx.update(sessions).set({ openedByGuest: true }).where(isKept)
    }
    return accounts.update(tx, guest.id, { loginType, ...login })
  }

  /** A stranger may have registered the unverified address, so this removes every sign-in method and session. */
  async function claim(tx: Tx, user: Account, loginType: LoginType): Promise<Account> {
    await removeUntrustedSignInMethods(tx, user)
    await tx.update(users).set({ passwordHash: null }).where(eq(users.id, user.id))
    await secure(tx, user.id, null)
    return accounts.update(tx, user.id, { loginType, emailVerifiedAt: now() })
  }

  async function signOut(userId: string) {
    await db.write((tx) => secure(tx, userId, null))
  }

  async function endOtherSessions(userId: string, sessionId: string) {
    await db.write((tx) => secure(tx, userId, sessionId, 'signed_out'))
  }

  /**
   * Removes what a stranger may have set up earlier: everything if the address was never verified, otherwise passkeys
   * and identities that do not own it. The caller replaces the password and secures the account.
   */
  async function removeUntrustedSignInMethods(
    tx: Tx,
    { id: userId, emailKey, emailVerifiedAt }: Account,
  ) {
    await tx.delete(passkeys).where(eq(passkeys.userId, userId))
    if (emailVerifiedAt !== null) return identities.removeForeign(tx, userId, emailKey)
    const off = { twoFactorSecret: null, twoFactorSince: null, twoFactorStep: null }
    await tx.update(users).set(off).where(eq(users.id, userId))
    await identities.removeAll(tx, userId)
    for (const table of [recoveryCodes, knownDevices]) {
      await tx.delete(table).where(eq(table.userId, userId))
    }
  }
}
