import { type Column, type SQL, sql } from 'drizzle-orm'
import { asTimezone } from '../../lib/text/locale.ts'
import type { Columns } from '../../platform/db/columns.ts'
import type { Db } from '../../platform/db/db.ts'

export type UsersDb = Db<ReturnType<typeof userTables>>

/** Conditions of partial indexes. A query must use the same expression for its index to be chosen. */
export const GUESTS = (t: { loginType: Column }): SQL => sql`${t.loginType} = 'guest'`
export const NOT_GUESTS = (t: { loginType: Column }): SQL => sql`${t.loginType} <> 'guest'`

export function userTables(columns: Columns) {
  const { table, text, ownedBy, textReadAs, int, bool, ms, json, index, uniqueIndex, primaryKey } =
    columns

  const users = table(
    'users',
    {
      id: text().primaryKey(),
      loginType: text().notNull(),
      /** As entered; null for a guest. */
      email: text(),
      /** The normalized address, for comparisons. */
      emailKey: text(),
      /** When the user verified the address; null before. */
      emailVerifiedAt: ms(),
      passwordHash: text(),
      name: text().notNull(),
      locale: text().notNull(),
      /** Earlier versions stored it in lower case. */
      timezone: textReadAs((stored) => asTimezone(stored) ?? stored).notNull(),
      currency: text().notNull(),
      /** The key of one of the user's public images. */
      avatarKey: text(),
      onboardingCompleted: bool().notNull(),
      /** The TOTP secret, sealed; in force once `twoFactorSince` is set. */
      twoFactorSecret: text(),
      twoFactorSince: ms(),
      /** The last accepted TOTP step. Codes for this and earlier steps are refused. */
      twoFactorStep: int(),
      createdAt: ms().notNull(),
      updatedAt: ms().notNull(),
      /** When the user last signed in or refreshed the session, to the day (UTC); 0: never. */
      lastSeenAt: ms().notNull().default(sql`0`),
      /** `ios`, `android` or `web`, as the app last reported. */
      platform: text(),
      /** A country code, as the proxy last reported. */
      country: text(),
    },
    (t) => [
      uniqueIndex('users_email_key').on(t.emailKey),
      // For the filters of the list of users. The id makes the order of equal values stable.
      index('users_created').on(t.createdAt, t.id),
      index('users_seen').on(t.lastSeenAt, t.id),
      index('users_platform').on(t.platform, t.id),
      index('users_country').on(t.country, t.id),
      index('users_guests').on(t.id).where(GUESTS(t)),
      index('users_not_guests').on(t.id).where(NOT_GUESTS(t)),
    ],
  )

  /** The words of users' names, in lower case and without accents, for the search. */
  const userNames = table(
    'user_names',
    {
      word: text().notNull(),
      userId: ownedBy(() => users.id),
    },
    (t) => [
      primaryKey({ columns: [t.word, t.userId] }),
      index('user_names_user').on(t.userId, t.word),
    ],
  )

  const userNotes = table(
    'user_notes',
    {
      id: text().primaryKey(),
      userId: ownedBy(() => users.id),
      text: text().notNull(),
      /** The name of the operator; null for a command. */
      author: text(),
      createdAt: ms().notNull(),
    },
    (t) => [index('user_notes_user').on(t.userId, t.id)],
  )

  const userBackfills = table('user_backfills', {
    id: text().primaryKey(),
    reached: text().notNull(),
  })

  const sessions = table(
    'sessions',
    {
      id: text().primaryKey(),
      userId: ownedBy(() => users.id),
      device: text().notNull(),
      /** Opened with a sealed request: plain requests are refused. */
      sealed: bool().notNull().default(false),
      /** Opened by a guest who has become an account since: it proves nothing about the user. */
      openedByGuest: bool().notNull().default(false),
      /** The number of the newest refresh token in this session's chain. */
      generation: int().notNull(),
      /** The number of the last token that was sent again after its successor had been used. */
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
      sessionId: ownedBy(() => sessions.id),
      generation: int().notNull(),
      /** When this token, or an access token minted with it, was first used. */
      firstUsedAt: ms(),
    },
    (t) => [uniqueIndex('refresh_tokens_generation').on(t.sessionId, t.generation)],
  )

  /** Accounts at identity providers, by the provider's own user id. */
  const identities = table(
    'identities',
    {
      provider: text().notNull(),
      subject: text().notNull(),
      userId: ownedBy(() => users.id),
      email: text(),
      /** Apple's token, sealed; it revokes the grant when the account is deleted. */
      grant: text(),
      /** Apple forwards no e-mails to the address: the user has turned that off. */
      mailDisabled: bool().notNull().default(false),
      /** When the user last turned forwarding off or on, according to Apple. */
      mailEventAt: ms(),
      createdAt: ms().notNull(),
    },
    (t) => [
      primaryKey({ columns: [t.provider, t.subject] }),
      index('identities_user').on(t.userId),
    ],
  )

  /** Tokens for links in e-mails, pending sign-ins, passkey challenges and invitations. Only the hash is stored. */
  const oneTimeTokens = table(
    'one_time_tokens',
    {
      hash: text().primaryKey(),
      purpose: text().notNull(),
      /** Null while the account is unknown. */
      userId: text().references(() => users.id, { onDelete: 'cascade' }),
      /** The address that the e-mail was sent to; null for tokens that are not tied to an address. */
      email: text(),
      /** The normalized address of a token without an account. */
      emailKey: text(),
      failures: int().notNull(),
      expiresAt: ms().notNull(),
    },
    (t) => [
      index('one_time_tokens_user').on(t.userId),
      index('one_time_tokens_email_key').on(t.emailKey),
    ],
  )

  const passkeys = table(
    'passkeys',
    {
      /** The credential id, base64url. */
      id: text().primaryKey(),
      userId: ownedBy(() => users.id),
      /** COSE key, base64url. */
      publicKey: text().notNull(),
      counter: int().notNull(),
      transports: json<string[]>().notNull(),
      /** The relying party that the passkey was created for, and the only one where it works. */
      rpId: text().notNull(),
      name: text().notNull(),
      createdAt: ms().notNull(),
      lastUsedAt: ms(),
    },
    (t) => [index('passkeys_user').on(t.userId)],
  )

  const recoveryCodes = table(
    'recovery_codes',
    {
      userId: ownedBy(() => users.id),
      hash: text().notNull(),
    },
    (t) => [primaryKey({ columns: [t.userId, t.hash] })],
  )

  /** Devices that have signed in before, so that a new one can be reported. */
  const knownDevices = table(
    'known_devices',
    {
      userId: ownedBy(() => users.id),
      device: text().notNull(),
      seenAt: ms().notNull(),
    },
    (t) => [primaryKey({ columns: [t.userId, t.device] })],
  )

  /** The kinds of imported password hashes, such as `$2b$10$`. */
  const importedHashKinds = table('imported_hash_kinds', { kind: text().primaryKey() })

  return {
    users,
    userNames,
    userNotes,
    userBackfills,
    sessions,
    refreshTokens,
    identities,
    oneTimeTokens,
    passkeys,
    recoveryCodes,
    knownDevices,
    importedHashKinds,
  }
}
