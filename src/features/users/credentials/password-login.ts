import { eq } from 'drizzle-orm'
import { AppError, invalidFields } from '../../../lib/errors.ts'
import { checkPassword } from '../../../lib/passwords/password-rules.ts'
import { toEmailKey, trimAddress } from '../../../lib/text/email-address.ts'
import type { WindowRule } from '../../../platform/limits/limits.ts'
import type { AccountDefaults } from '../accounts/accounts.ts'
import type { SignInContext } from '../context/sign-in-context.ts'
import { requireMailbox } from '../email/email-addresses.ts'
import type { RequestOrigin } from '../sessions/sign-in.ts'
import { wrongCredentials } from './password-proof.ts'

/** Without a password, the user sets one with “forgot password”. */
type NewAccount = AccountDefaults & {
  email: string
  password: string | null
  emailVerified: boolean
}

type Registration = AccountDefaults & {
  email: string
  password: string
  invitation?: string | undefined
}

export type PasswordLogin = ReturnType<typeof createPasswordLogin>

/** Passwords that operators and servers set share one place in the queue, so that many of them do not delay sign-ins. */
const FOR_OPERATORS = 'operators'
const REGISTRATIONS_PER_IP: WindowRule = {
  name: 'register',
  max: 'registrations',
  seconds: 60 * 60,
}

export function createPasswordLogin(deps: SignInContext) {
  const {
    db,
    accounts,
    addresses,
    accountSecurity,
    signInMethods,
    passwords,
    proof,
    twoFactor,
    signIn,
    limits,
    signUp,
    passwordMinLength,
    now,
  } = deps
  const { users } = db.tables
  return { register, create, login, change, reset }

  async function register(
    { email, password, invitation, ...defaults }: Registration,
    { ip, device, baseUrl }: RequestOrigin,
    guestId: string | null,
  ) {
    await signUp.requireInvitation(db.read, email, invitation)
    await checkNewLogin(email, password, defaults.name)
    const applicable = [{ rule: REGISTRATIONS_PER_IP, key: ip }]
    await limits.check(applicable)
    const passwordHash = await passwords.serialize([ip, toEmailKey(email)], async ({ hash }) => {
      await limits.reserve(applicable)
      // Avoids hashing for a taken address; the transaction below decides.
      if (await accounts.findByEmail(db.read, email)) throw emailTaken()
      return hash(password)
    })
    const grant = await db.write(async (tx) => {
      if (await accounts.findByEmail(tx, email)) throw emailTaken()
      const emailVerifiedAt = (await signUp.acceptInvitation(tx, email, invitation)) ? now() : null
      const login = { email, emailKey: toEmailKey(email), emailVerifiedAt, passwordHash }
      const guest = guestId === null ? null : await accounts.find(tx, guestId)
      const loginAndName = defaults.name === '' ? login : { ...login, name: defaults.name }
      const user =
        guest?.loginType === 'guest'
          ? await accountSecurity.upgradeGuest(tx, guest, 'email', loginAndName)
          : await accounts.create(tx, 'email', defaults, login)
      if (emailVerifiedAt === null) await addresses.sendVerification(tx, user, ip)
      return signIn.openSession(tx, user, device)
    })
    return signIn.toSessionReply(grant, baseUrl)
  }

  /** Creates an account for an operator or a server, without a session or an e-mail. */
  async function create({ email: typed, password, emailVerified, ...defaults }: NewAccount) {
    const email = trimAddress(typed)
    if (password === null) requireMailbox(email)
    else await checkNewLogin(email, password, defaults.name)
    const emailKey = toEmailKey(email)
    const passwordHash =
      password === null ? null : await passwords.hash(password, [FOR_OPERATORS, emailKey])
    const emailVerifiedAt = emailVerified ? now() : null
    return db.write(async (tx) => {
      if (await accounts.findByEmail(tx, email)) throw emailTaken()
      const login = { email, emailKey, emailVerifiedAt, passwordHash }
      return accounts.create(tx, 'email', defaults, login)
    })
  }

  async function login(
    email: string,
    password: string,
    origin: RequestOrigin,
    bearerId: string | null,
  ) {
    const { user, releaseRateLimit } = await proof.attempt(email, password, origin)
    const result = await db.write(async (tx) => {
      // The account may have been deleted, or its password changed, while the hash was verified.
      const current = await accounts.findByEmail(tx, email)
      if (current?.passwordHash !== user.passwordHash)
        throw wrongCredentials({ reason: 'wrong_password', userId: user.id })
      await releaseRateLimit(tx)
      return signIn.finishSignIn(tx, current, origin.device, bearerId)
    })
    return signIn.toSignInReply(result, origin.baseUrl)
  }

  async function change(
    userId: string,
    sessionId: string,
    current: string,
    next: string,
    code?: string,
  ) {
    const recheckPassword = await proof.verifyOwnPassword(userId, current)
    const { email, name } = await accounts.find(db.read, userId)
    await check(next, 'newPassword', email ?? '', name)
    const useCode = await twoFactor.requireCode(userId, code)
    const passwordHash = await passwords.hash(next, [userId])
    await db.write(async (tx) => {
      await recheckPassword(tx)
      await useCode(tx)
      await tx.update(users).set({ passwordHash }).where(eq(users.id, userId))
      await accountSecurity.secure(tx, userId, sessionId)
    })
  }

  /** Sets the password with the token from an e-mail, which also verifies the address, and ends all sessions. */
  async function reset(token: string, password: string) {
    const owner = await addresses.findResetOwner(db.read, token)
    await check(password, 'newPassword', owner.email ?? '', owner.name)
    const passwordHash = await passwords.hash(password, [owner.id])
    await db.write(async (tx) => {
      const user = await addresses.consumeResetToken(tx, token)
      await tx.update(users).set({ passwordHash }).where(eq(users.id, user.id))
      await signInMethods.requireOne(tx, user.id)
      await accountSecurity.secure(tx, user.id, null)
      await proof.clearFailures(tx, user)
    })
  }

  /** Reports the errors of both fields at once. */
  async function checkNewLogin(email: string, password: string, name: string) {
    const checks = [
      async () => requireMailbox(email),
      () => check(password, 'password', email, name),
    ]
    const outcomes = await Promise.allSettled(checks.map((run) => run()))
    const errors = outcomes.flatMap((outcome) =>
      outcome.status === 'rejected' ? [outcome.reason] : [],
    )
    if (errors.length === 1) throw errors[0]
    if (errors.length === 0) return
    throw invalidFields(errors.flatMap(({ details = [] }) => details))
  }

  function check(password: string, field: string, email: string, name: string) {
    return checkPassword(password, { minLength: passwordMinLength, field, email, name })
  }
}

function emailTaken(): AppError {
  return new AppError(
    'email_taken',
    'An account with this e-mail address already exists: sign in instead.',
  )
}
