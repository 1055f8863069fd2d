import { and, asc, eq } from 'drizzle-orm'
import { AppError } from '../../../lib/errors.ts'
import type { Tx } from '../../../platform/db/db.ts'
import type { UsersContext } from '../context/context.ts'

export type SignInMethods = ReturnType<typeof createSignInMethods>

export function createSignInMethods({ db, accounts, relyingParty, acceptsIdentity }: UsersContext) {
  const { identities, passkeys } = db.tables
  return { requireOne, updateLoginType }

  /** Like `updateLoginType`, but throws `conflict` if no method is left. */
  async function requireOne(tx: Tx, userId: string) {
    if (!(await updateLoginType(tx, userId))) throw onlySignInMethod()
  }

  /**
   * For the transaction that removes a method. Returns false if no method is left. A verified address is one, because
   * codes can be sent to it.
   */
  async function updateLoginType(tx: Tx, userId: string): Promise<boolean> {
    const { emailKey, passwordHash, emailVerifiedAt, loginType } = await accounts.find(tx, userId)
    const signsInByEmail = emailKey !== null && (passwordHash !== null || emailVerifiedAt !== null)
    const linked = await tx
      .select({ provider: identities.provider, subject: identities.subject })
      .from(identities)
      .where(eq(identities.userId, userId))
      .orderBy(asc(identities.createdAt), asc(identities.provider))
    const isUsable = and(eq(passkeys.userId, userId), eq(passkeys.rpId, relyingParty.rpId))
    const hasPasskey = (await tx.$count(passkeys, isUsable)) > 0
    const left = [
      ...(signsInByEmail ? ['email'] : []),
      ...linked.filter(acceptsIdentity).map(({ provider }) => provider),
      ...(hasPasskey ? ['passkey'] : []),
    ]
    const [first] = left
    if (first === undefined) return false
    if (!left.includes(loginType)) await accounts.update(tx, userId, { loginType: first })
    return true
  }
}

function onlySignInMethod(): AppError {
  return new AppError('conflict', 'This is the only way to sign in: add another one first.')
}
