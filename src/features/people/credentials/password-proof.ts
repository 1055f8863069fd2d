import type { Tx } from '../../../db/db.ts'
import { emailKeyOf } from '../../../lib/email-address.ts'
import { AppError } from '../../../lib/errors.ts'
import type { Passwords } from '../../../lib/passwords.ts'
import type { BackoffRule, Claim, Limits, Reservation, WindowRule } from '../../../limits/limits.ts'
import type { Account, Accounts } from '../accounts/accounts.ts'
import type { PeopleDb } from '../schema.ts'

type PasswordProofDeps = {
  db: PeopleDb
  accounts: Accounts
  passwords: Passwords
  limits: Limits
}

export type PasswordProof = ReturnType<typeof createPasswordProof>

/** Throws when what was proven before the change holds no more: the password may have been replaced. */
export type RecheckPassword = (tx: Tx) => Promise<void>

const PER_ACCOUNT: BackoffRule = { name: 'sign-in', free: 5, maxDelay: 15 * 60 }
const PER_IP: WindowRule = { name: 'sign-in-address', max: 100, seconds: 5 * 60 }

/** Checks passwords, each try counted before its hash is verified, so that many at once cannot slip through. */
export function createPasswordProof({ db, accounts, passwords, limits }: PasswordProofDeps) {
  return { attempt, prove, verifyOwnPassword, counted, forgetFailures, claimsOf }

  /** The account that an address and a password belong to; `settle` ends the count, as part of the change. */
  async function attempt(email: string, password: string, ip: string) {
    const reservation = await limits.reserve([accountClaim(email), { rule: PER_IP, key: ip }])
    const user = await accounts.findByEmail(db.read, email)
    const stored = user?.passwordHash ?? null
    const matches = await counted(reservation, () => passwords.verify(password, stored))
    if (!user || !matches) throw wrongCredentials()
    return { user, settle: (tx: Tx) => reservation.release(tx) }
  }

  /** The same for somebody who is not about to sign in. */
  async function prove(email: string, password: string, ip: string): Promise<Account> {
    const { user, settle } = await attempt(email, password, ip)
    await db.write(settle)
    return user
  }

  /**
   * Throws unless the password is that of a signed-in user, limited as a sign-in is. Returns a check to
   * repeat inside the change that follows: another password may have been set meanwhile.
   */
  async function verifyOwnPassword(userId: string, password: string): Promise<RecheckPassword> {
    const { email, passwordHash } = await accounts.find(db.read, userId)
    const reservation = await limits.reserve([accountClaim(email ?? userId)])
    const matches = await counted(reservation, () => passwords.verify(password, passwordHash))
    if (!matches) throw wrongPassword()
    await db.write(reservation.release)
    return async (tx) => {
      const current = await accounts.find(tx, userId)
      if (current.passwordHash !== passwordHash) throw wrongPassword()
    }
  }

  /** Work that is refused because too many wait for it was no try. */
  async function counted<T>({ release }: Reservation, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      await db.write(release)
      throw error
    }
  }

  /** A new password ends the delays that wrong ones have brought. */
  async function forgetFailures(tx: Tx, { id, email }: Account) {
    await limits.forget(tx, accountClaim(email ?? id))
  }

  /** The limits that passwords of an account count against. */
  function claimsOf({ id, email }: Account): Claim[] {
    return [accountClaim(email ?? id)]
  }
}

function accountClaim(email: string): Claim {
  return { rule: PER_ACCOUNT, key: emailKeyOf(email) }
}

export function wrongCredentials(): AppError {
  return new AppError('invalid_credentials', 'The e-mail address or the password is wrong.')
}

function wrongPassword(): AppError {
  return new AppError('invalid_credentials', 'The password is wrong.')
}
