import type { Columns } from '../../platform/db/columns.ts'
import type { Db } from '../../platform/db/db.ts'

export type UsersDb = Db<ReturnType<typeof userTables>>

/** Accounts, and everything that lets somebody sign in to one. */
export function userTables(columns: Columns) {
  const { table, text, int, bool, ms, index, uniqueIndex, primaryKey } = columns

  const users = table(
    'users',
    {
      id: text().primaryKey(),
      loginType: text().notNull(),
      /** As typed; null for a guest. */
      email: text(),
      /** The address in the form in which it is compared. */
      emailKey: text(),
      /** When the address was shown to be this person's; null before. */
      emailVerifiedAt: ms(),
      passwordHash: text(),
      name: text().notNull(),
      locale: text().notNull(),
      timezone: text().notNull(),
      currency: text().notNull(),
      /** The public picture that shows this person: the key of an attachment of theirs. */
      avatarKey: text(),
      onboardingCompleted: bool().notNull(),
      /** The TOTP secret, sealed; it counts once `twoFactorSince` is set. */
      twoFactorSecret: text(),
      twoFactorSince: ms(),
      /** The last TOTP step that was accepted: it and earlier ones are used up. */
      twoFactorStep: int(),
      createdAt: ms().notNull(),
      updatedAt: ms().notNull(),
    },
    (t) => [uniqueIndex('users_email_key').on(t.emailKey)],
  )

  const sessions = table(
    'sessions',
    {
      id: text().primaryKey(),
      userId: text()
        .notNull()
        .references(() => users.id, { onDelete: 'cascade' }),
      device: text().notNull(),
      /** It was opened sealed and is refused in plain. */
      sealed: bool().notNull().default(false),
      /** Counts the refresh tokens of this family; the newest one has this number. */
      generation: int().notNull(),
      /** The last used token that came again after its successor had been used. */
      repeatedGeneration: int(),
      createdAt: ms().notNull(),
      lastUsedAt: ms().notNull(),
      expiresAt: ms().notNull(),
    },
    (t) => [index('sessions_user').on(t.userId)],
  )

  const refreshTokens = table(
    'refresh_tokens',
    {
      /** SHA-256 of the token, base64url. The token itself is never stored. */
      hash: text().primaryKey(),
      sessionId: text()
        .notNull()
        .references(() => sessions.id, { onDelete: 'cascade' }),
      generation: int().notNull(),
      /** When this token, or an access token minted with it, was first used. */
      firstUsedAt: ms(),
    },
    (t) => [uniqueIndex('refresh_tokens_generation').on(t.sessionId, t.generation)],
  )

  /** Accounts at identity providers, by the provider's own id of the person. */
  const identities = table(
    'identities',
    {
      provider: text().notNull(),
      subject: text().notNull(),
      userId: text()
        .notNull()
        .references(() => users.id, { onDelete: 'cascade' }),
      email: text(),
      /** What revokes the grant when the account is deleted, sealed; Apple alone gives it. */
      grant: text(),
      createdAt: ms().notNull(),
    },
    (t) => [
      primaryKey({ columns: [t.provider, t.subject] }),
      index('identities_user').on(t.userId),
    ],
  )

  /** Tokens of links in mails and of half-done sign-ins. Only the hash is kept. */
  const oneTimeTokens = table(
    'one_time_tokens',
    {
      hash: text().primaryKey(),
      purpose: text().notNull(),
      userId: text()
        .notNull()
        .references(() => users.id, { onDelete: 'cascade' }),
      /** The address that a mail was sent to, where that matters. */
      email: text(),
      /** Wrong answers so far. */
      failures: int().notNull(),
      expiresAt: ms().notNull(),
    },
    (t) => [index('one_time_tokens_user').on(t.userId)],
  )

  const recoveryCodes = table(
    'recovery_codes',
    {
      userId: text()
        .notNull()
        .references(() => users.id, { onDelete: 'cascade' }),
      hash: text().notNull(),
    },
    (t) => [primaryKey({ columns: [t.userId, t.hash] })],
  )

  /** Devices that have signed in before, so that a new one can be told of. */
  const knownDevices = table(
    'known_devices',
    {
      userId: text()
        .notNull()
        .references(() => users.id, { onDelete: 'cascade' }),
      device: text().notNull(),
      seenAt: ms().notNull(),
    },
    (t) => [primaryKey({ columns: [t.userId, t.device] })],
  )

  return { users, sessions, refreshTokens, identities, oneTimeTokens, recoveryCodes, knownDevices }
}
