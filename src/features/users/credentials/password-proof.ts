import { and, eq } from 'drizzle-orm'
import { AppError, type Denial } from '../../../lib/errors.ts'
import type { Hasher } from '../../../lib/passwords/passwords.ts'
import { toEmailKey } from '../../../lib/text/email-address.ts'
import type { Tx } from '../../../platform/db/db.ts'
import type { BackoffRule, Limit, WindowRule } from '../../../platform/limits/limits.ts'
import type { Account } from '../accounts/accounts.ts'
import type { UsersContext } from '../context/context.ts'
import type { HashKinds } from './hash-kinds.ts'
import type { AttemptOrigin, KnownOrigins } from './known-origins.ts'

export type PasswordProof = ReturnType<typeof createPasswordProof>

/** Throws if the password has changed since it was verified. */
export type RecheckPassword = (tx: Tx) => Promise<void>

const PER_ACCOUNT: BackoffRule = { name: 'sign-in', free: 5, maxDelay: 15 * 60 }
/** For a user's own device or network; see `KnownOrigins`. */
const PER_ORIGIN: BackoffRule = { name: 'sign-in-known', free: 5, maxDelay: 15 * 60 }
/** Counted separately, so that a stranger who knows the address cannot block a signed-in user. */
const PER_USER: BackoffRule = { name: 'own-password', free: 5, maxDelay: 15 * 60 }
const PER_IP: WindowRule = { name: 'sign-in-address', max: 'failures', seconds: 5 * 60 }

/** Checks passwords. Attempts count before the hash is verified, so parallel attempts are limited too. */
export function createPasswordProof(
  deps: UsersContext & { hashKinds: HashKinds; knownOrigins: KnownOrigins },
) {
  const { db, accounts, passwords, limits, hashKinds, knownOrigins } = deps
  const { users } = db.tables
  return { attempt, prove, verifyOwnPassword, clearFailures, listLimits }

  /** Replaces an outdated hash. `releaseRateLimit` uncounts the attempt in the caller's transaction. */
  async function attempt(email: string, password: string, origin: AttemptOrigin) {
    const { ip } = origin
    const applicable = [await attemptLimit(email, origin), { rule: PER_IP, key: ip }]
    await limits.check(applicable)
    return passwords.serialize([ip, toEmailKey(email)], async (hasher) => {
      const { verify } = hasher
      const { release } = await limits.reserve(applicable)
      const user = await accounts.findByEmail(db.read, email)
      const stored = user?.passwordHash ?? null
      const matches = await verify(password, stored)
      if (!matches) {
        for (const decoy of await hashKinds.listDecoys(stored)) await verify(password, decoy)
      }
      if (!user) throw wrongCredentials({ reason: 'unknown_account' })
      if (!matches) throw wrongCredentials({ reason: 'wrong_password', userId: user.id })
      const passwordHash = await renewOutdatedHash(user, password, hasher)
      return { user: { ...user, passwordHash }, releaseRateLimit: release }
    })
  }

  /** Reads the same for an unknown address, so that the time reveals nothing. A new password starts a new count. */
  async function attemptLimit(email: string, origin: AttemptOrigin): Promise<Limit> {
    const user = await accounts.findByEmail(db.read, email)
    const own = await knownOrigins.recognize(user?.id ?? '', origin)
    return own === null
      ? accountLimit(email)
      : { rule: PER_ORIGIN, key: `${own} ${user?.passwordHash}` }
  }

  /** For callers that do not sign the user in. */
  async function prove(email: string, password: string, origin: AttemptOrigin): Promise<Account> {
    const { user, releaseRateLimit } = await attempt(email, password, origin)
    await db.write(releaseRateLimit)
    return user
  }

  /**
   * Wrong passwords cause the same delays as in a sign-in. Returns a check to repeat in the transaction that follows,
   * because the password may change in between.
   */
  async function verifyOwnPassword(userId: string, password: string): Promise<RecheckPassword> {
    const user = await accounts.find(db.read, userId)
    const applicable = [{ rule: PER_USER, key: userId }]
    await limits.check(applicable)
    const passwordHash = await passwords.serialize([userId], async (hasher) => {
      const { release } = await limits.reserve(applicable)
      if (!(await hasher.verify(password, user.passwordHash))) throw wrongPassword(userId)
      await db.write(release)
      return renewOutdatedHash(user, password, hasher)
    })
    return async (tx) => {
      const current = await accounts.find(tx, userId)
      if (current.passwordHash !== passwordHash) throw wrongPassword(userId)
    }
  }

  /**
   * Runs before the change that follows, so that no other request replaces the hash in between. Returns the stored
   * hash. Throws if the password has changed.
   */
  async function renewOutdatedHash(
    { id, passwordHash }: Pick<Account, 'id' | 'passwordHash'>,
    password: string,
    { hash, verify, isOutdated }: Hasher,
  ): Promise<string | null> {
    if (passwordHash === null || !(await isOutdated(password, passwordHash))) return passwordHash
    const renewed = await hash(password)
    const isUnchanged = and(eq(users.id, id), eq(users.passwordHash, passwordHash))
    const replaced = await db.write((tx) =>
      tx
        .update(users)
        .set({ passwordHash: renewed })
        .where(isUnchanged)
        .returning({ id: users.id }),
    )
    if (replaced.length > 0) return renewed
    const { passwordHash: current } = await accounts.find(db.read, id)
    if (await verify(password, current)) return current
    throw wrongPassword(id)
  }

  async function clearFailures(tx: Tx, { id, email }: Account) {
    for (const limit of listLimits({ id, email })) await limits.resetCounter(tx, limit)
  }

  function listLimits({ id, email }: Pick<Account, 'id' | 'email'>): Limit[] {
    return [accountLimit(email ?? id), { rule: PER_USER, key: id }]
  }
}

function accountLimit(email: string): Limit {
  return { rule: PER_ACCOUNT, key: toEmailKey(email) }
}

export function wrongCredentials(denial: Denial): AppError {
  return new AppError('invalid_credentials', 'The e-mail address or the password is wrong.', {
    denial,
  })
}

function wrongPassword(userId: string): AppError {
  return new AppError('invalid_credentials', 'The password is wrong.', {
    denial: { reason: 'wrong_password', userId },
  })
}
