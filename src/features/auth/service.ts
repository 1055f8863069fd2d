import { eq } from 'drizzle-orm'
import type { Db } from '../../db/open.ts'
import { AppError } from '../../lib/errors.ts'
import type { Passwords } from './passwords.ts'
import type { Grant, Sessions } from './sessions.ts'
import { ACCESS_TOKEN_LIFE, type Tokens } from './tokens.ts'

export type AuthDeps<Profile> = {
  db: Db
  passwords: Passwords
  sessions: Sessions
  tokens: Tokens
  passwordMinLength: number
  now: () => Date
  newId: () => string
  readProfile: (userId: string) => Promise<Profile>
}

/** What a new account takes from the phone it is made on. */
export type NewAccount = {
  email: string
  password: string
  name: string
  device: string
  locale: string
  timezone: string
}

export type Auth<Profile> = ReturnType<typeof createAuth<Profile>>

export function createAuth<Profile>(deps: AuthDeps<Profile>) {
  const { db, passwords, sessions, tokens, passwordMinLength, now, newId, readProfile } = deps
  const { users } = db.tables
  return { register, login, refresh, logout }

  async function register(account: NewAccount) {
    const { email, password, name, device, locale, timezone } = account
    checkPassword(password)
    const emailKey = emailKeyOf(email)
    // Told early, a taken address costs no hash; the change below decides.
    if (await findByEmail(db.read, emailKey)) throw emailTaken()
    const passwordHash = await passwords.hash(password)
    const grant = await db.write(async (tx) => {
      if (await findByEmail(tx, emailKey)) throw emailTaken()
      const at = now()
      const id = newId()
      await tx.insert(users).values({
        id,
        loginType: 'email',
        email,
        emailKey,
        passwordHash,
        name,
        locale,
        timezone,
        currency: 'usd',
        onboardingCompleted: false,
        createdAt: at,
        updatedAt: at,
      })
      return sessions.open(tx, id, device)
    })
    return asSession(grant)
  }

  async function login({
    email,
    password,
    device,
  }: Omit<NewAccount, 'name' | 'locale' | 'timezone'>) {
    const user = await findByEmail(db.read, emailKeyOf(email))
    const matches = await passwords.verify(password, user?.passwordHash ?? null)
    if (!user || !matches) throw wrongCredentials()
    const grant = await db.write(async (tx) => {
      // The account may have gone, or its password changed, while the old hash was verified.
      const current = await findByEmail(tx, emailKeyOf(email))
      if (current?.passwordHash !== user.passwordHash) throw wrongCredentials()
      return sessions.open(tx, user.id, device)
    })
    return asSession(grant)
  }

  async function refresh(refreshToken: string) {
    return asSession(await sessions.refresh(refreshToken))
  }

  async function logout(sessionId: string) {
    await sessions.end(sessionId)
  }

  async function asSession(grant: Grant) {
    return {
      accessToken: await tokens.mintAccess(grant),
      refreshToken: grant.refreshToken,
      tokenType: 'Bearer',
      expiresIn: ACCESS_TOKEN_LIFE,
      user: await readProfile(grant.userId),
    }
  }

  function checkPassword(password: string) {
    if (password.length >= passwordMinLength) return
    throw new AppError('validation_failed', 'The password is too short.', {
      details: [{ path: 'password', message: `must have ${passwordMinLength} characters or more` }],
    })
  }

  async function findByEmail(from: Pick<Db['read'], 'select'>, emailKey: string) {
    const [user] = await from
      .select({ id: users.id, passwordHash: users.passwordHash })
      .from(users)
      .where(eq(users.emailKey, emailKey))
    return user
  }
}

/** Addresses are the same when they differ in case or in how Unicode composes them. */
export function emailKeyOf(email: string): string {
  return email.normalize('NFC').toLowerCase()
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
