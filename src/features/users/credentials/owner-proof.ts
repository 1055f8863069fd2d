import { eq } from 'drizzle-orm'
import { AppError, invalidField } from '../../../lib/errors.ts'
import { MINUTE_MS } from '../../../lib/time/durations.ts'
import type { Reader } from '../../../platform/db/db.ts'
import { SKEW_WARNING_MS } from '../../../platform/jobs/jobs.ts'
import type { UsersContext } from '../context/context.ts'
import type { PasswordProof, RecheckPassword } from './password-proof.ts'

export type Owner = { userId: string; sessionId: string }

export type OwnerProof = ReturnType<typeof createOwnerProof>

const RECENT_MS = 10 * MINUTE_MS

/** Distinguishes the owner from someone who only has the owner's tokens. */
export function createOwnerProof(deps: UsersContext & { proof: PasswordProof }) {
  const { db, accounts, proof, now } = deps
  const { sessions } = db.tables
  return { prove, requireRecentSignIn }

  /** By the password if there is one, or by a recent sign-in. Returns a check to repeat in the next transaction. */
  async function prove(
    { userId, sessionId }: Owner,
    password: string | undefined,
  ): Promise<RecheckPassword> {
    const { passwordHash, loginType } = await accounts.find(db.read, userId)
    if (passwordHash !== null || loginType === 'guest') {
      if (password === undefined) throw invalidField('password', 'is required')
      return proof.verifyOwnPassword(userId, password)
    }
    const recheckSession = (from: Reader) => requireRecentSignIn(from, sessionId)
    await recheckSession(db.read)
    return recheckSession
  }

  /** Throws `recent_sign_in_required` unless the session was opened in the last ten minutes and has not ended. */
  async function requireRecentSignIn(from: Reader, sessionId: string) {
    const [session] = await from.select().from(sessions).where(eq(sessions.id, sessionId))
    const age = now().getTime() - (session?.createdAt.getTime() ?? 0)
    // Another instance's clock may be a little ahead.
    const isPast = age >= -SKEW_WARNING_MS
    if (session && isPast && age <= RECENT_MS && !session.openedByGuest) return
    throw new AppError('recent_sign_in_required', 'Sign in again to confirm that it is you.')
  }
}
