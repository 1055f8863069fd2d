import { eq } from 'drizzle-orm'
import type { Db, Tx } from '../../../db/db.ts'
import type { Device } from '../../../http/request-headers.ts'
import { emailKeyOf } from '../../../lib/email-address.ts'
import { AppError } from '../../../lib/errors.ts'
import type { BackoffRule, Claim, Limits, Reservation, WindowRule } from '../../../limits/limits.ts'
import type { Account, Accounts, Hints } from '../accounts/accounts.ts'
import type { Securing } from '../accounts/securing.ts'
import { type EmailAddresses, requireMailbox, type StillProven } from '../email/email-addresses.ts'
import type { SignIn } from '../sessions/sign-in.ts'
import { checkPassword } from './password-rules.ts'
import type { Passwords } from './passwords.ts'

export type PasswordLoginDeps = {
  db: Db
  accounts: Accounts
  addresses: EmailAddresses
  securing: Securing
  passwords: Passwords
  signIn: SignIn
  limits: Limits
  passwordMinLength: number
}

/** Who tries: an address on the network, and the device by its own word. */
export type Client = { address: string; device: Device }

const PER_ACCOUNT: BackoffRule = { name: 'sign-in', free: 5, longestDelay: 15 * 60 }
const PER_ADDRESS: WindowRule = { name: 'sign-in-address', most: 100, seconds: 5 * 60 }
const REGISTRATIONS: WindowRule = { name: 'register', most: 100, seconds: 60 * 60 }

/** Signing up and in with an e-mail address and a password. */
export function createPasswordLogin(deps: PasswordLoginDeps) {
  const { db, accounts, addresses, securing, passwords, signIn, limits, passwordMinLength } = deps
  const { users } = db.tables
  return { register, login, prove, proveOwn, change, set }

  /** Makes an account, or makes one out of the guest. */
  async function register(
    { email, password, ...hints }: { email: string; password: string } & Hints,
    { address, device }: Client,
    guestId: string | null,
  ) {
    requireMailbox(email)
    await check(password, 'password', email, hints.name)
    const registration = await limits.reserve([{ rule: REGISTRATIONS, key: address }])
    // Told early, a taken address costs no hash; the change below decides.
    if (await accounts.findByEmail(db.read, email)) throw emailTaken()
    const passwordHash = await counted(registration, () => passwords.hash(password))
    const admission = await db.write(async (tx) => {
      if (await accounts.findByEmail(tx, email)) throw emailTaken()
      const login = { email, emailKey: emailKeyOf(email), passwordHash }
      const guest = guestId === null ? null : await accounts.find(tx, guestId)
      const named = hints.name === '' ? login : { ...login, name: hints.name }
      const user =
        guest?.loginType === 'guest'
          ? await accounts.upgrade(tx, guest, 'email', named)
          : await accounts.create(tx, 'email', hints, login)
      await addresses.askToVerify(tx, user)
      return signIn.admit(tx, user, device)
    })
    return signIn.answer(admission)
  }

  async function login(email: string, password: string, client: Client) {
    const { user, settle } = await attempt(email, password, client.address)
    const rehash = passwords.isOutdated(user.passwordHash ?? '')
      ? await passwords.hash(password)
      : null
    const admission = await db.write(async (tx) => {
      // The account may have gone, or its password changed, while the hash was verified.
      const current = await accounts.findByEmail(tx, email)
      if (current?.passwordHash !== user.passwordHash) throw wrongCredentials()
      if (rehash) await tx.update(users).set({ passwordHash: rehash }).where(eq(users.id, user.id))
      await settle(tx)
      return signIn.admit(tx, current, client.device)
    })
    return signIn.answer(admission)
  }

  /** The account that address and password are of. Counted and limited as a sign-in is. */
  async function prove(email: string, password: string, address: string): Promise<Account> {
    const { user, settle } = await attempt(email, password, address)
    await db.write(settle)
    return user
  }

  /**
   * Throws unless the password is that of a signed-in user, limited as a sign-in is. Returns a check to
   * repeat inside the change that follows: another password may have been set meanwhile.
   */
  async function proveOwn(userId: string, password: string): Promise<StillProven> {
    const { email, passwordHash } = await accounts.find(db.read, userId)
    const reservation = await limits.reserve([accountClaim(email ?? userId)])
    const matches = await counted(reservation, () => passwords.verify(password, passwordHash))
    if (!matches) throw wrongPassword()
    await db.write(reservation.giveBack)
    return async (tx) => {
      const current = await accounts.find(tx, userId)
      if (current.passwordHash !== passwordHash) throw wrongPassword()
    }
  }

  /** Changes the password of a signed-in user and ends the other sessions. */
  async function change(userId: string, sessionId: string, current: string, next: string) {
    const stillProven = await proveOwn(userId, current)
    const { email, name } = await accounts.find(db.read, userId)
    await check(next, 'newPassword', email ?? '', name)
    const passwordHash = await passwords.hash(next)
    await db.write(async (tx) => {
      await stillProven(tx)
      await tx.update(users).set({ passwordHash }).where(eq(users.id, userId))
      await securing.secure(tx, userId, sessionId)
    })
  }

  /** Sets the password with the token of a mail, which proves the address, and ends all sessions. */
  async function set(token: string, password: string) {
    const asked = await addresses.ownerOfReset(db.read, token)
    await check(password, 'newPassword', asked.email ?? '', asked.name)
    const passwordHash = await passwords.hash(password)
    await db.write(async (tx) => {
      const user = await addresses.takeReset(tx, token)
      await tx.update(users).set({ passwordHash }).where(eq(users.id, user.id))
      await securing.secure(tx, user.id, null)
      await limits.forget(tx, accountClaim(user.email ?? user.id))
    })
  }

  /** Counts the try before the hash is verified, so that many at once cannot slip through. */
  async function attempt(email: string, password: string, address: string) {
    const reservation = await limits.reserve([
      accountClaim(email),
      { rule: PER_ADDRESS, key: address },
    ])
    const user = await accounts.findByEmail(db.read, email)
    const stored = user?.passwordHash ?? null
    const matches = await counted(reservation, () => passwords.verify(password, stored))
    if (!user || !matches) throw wrongCredentials()
    return { user, settle: (tx: Tx) => reservation.giveBack(tx) }
  }

  /** Work that is refused because too many wait for it was no try. */
  async function counted<T>({ giveBack }: Reservation, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      await db.write(giveBack)
      throw error
    }
  }

  function accountClaim(email: string): Claim {
    return { rule: PER_ACCOUNT, key: emailKeyOf(email) }
  }

  function check(password: string, field: string, email: string, name: string) {
    return checkPassword(password, { minLength: passwordMinLength, field, email, name })
  }
}

function emailTaken(): AppError {
  return new AppError(
    'email_taken',
    'There is an account with this e-mail address: sign in instead.',
  )
}

function wrongCredentials(): AppError {
  return new AppError('invalid_credentials', 'The e-mail address or the password is wrong.')
}

function wrongPassword(): AppError {
  return new AppError('invalid_credentials', 'The password is wrong.')
}
