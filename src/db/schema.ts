import { buildBillingTables } from './billing-schema.ts'
import { buildEncryptionTables } from './encryption-schema.ts'
import type { Columns } from './sqlite/columns.ts'

/** Text in one language, or the same text in several: `{ en: '…', de: '…' }`. */
export type LocalText = string | Record<string, string>

/** Every table of Homeport, from one kit of columns. Ids are UUIDv7 text made by the program. */
export function buildTables(columns: Columns) {
  const { table, text, int, real, bool, ms, json, index, uniqueIndex, primaryKey } = columns

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

  /** What is still to be sent to the outside. The content is sealed: it may hold a token. */
  const outbox = table('outbox', {
    id: text().primaryKey(),
    kind: text().notNull(),
    content: text().notNull(),
    attempts: int().notNull(),
    dueAt: ms().notNull(),
  })

  /** Counters of limits. `until`: when the window ends, or when the next try is allowed. */
  const limits = table('limits', {
    key: text().primaryKey(),
    count: int().notNull(),
    until: ms().notNull(),
  })

  const settings = table('settings', {
    key: text().primaryKey(),
    value: json<unknown>().notNull(),
  })

  const plans = table(
    'plans',
    {
      id: text().primaryKey(),
      code: text().notNull(),
      position: int().notNull(),
      /** Everything else of the plan, as `features/plans/model.ts` says. */
      fields: json<Record<string, unknown>>().notNull(),
      archivedAt: ms(),
    },
    (t) => [uniqueIndex('plans_code').on(t.code)],
  )

  const faqs = table('faqs', {
    id: text().primaryKey(),
    position: int().notNull(),
    question: json<LocalText>().notNull(),
    answer: json<LocalText>().notNull(),
    category: text().notNull(),
  })

  /** One counter a kind of content; it grows in the transaction of every edit. */
  const contentVersions = table('content_versions', {
    name: text().primaryKey(),
    version: int().notNull(),
  })

  const rateSets = table(
    'rate_sets',
    {
      id: text().primaryKey(),
      provider: text().notNull(),
      baseCode: text().notNull(),
      /** The provider's own date, `YYYY-MM-DD`. */
      date: text().notNull(),
      publishedAt: ms().notNull(),
      storedAt: ms().notNull(),
    },
    (t) => [uniqueIndex('rate_sets_date').on(t.provider, t.date)],
  )

  const rates = table(
    'rates',
    {
      setId: text()
        .notNull()
        .references(() => rateSets.id, { onDelete: 'cascade' }),
      code: text().notNull(),
      rate: real().notNull(),
    },
    (t) => [primaryKey({ columns: [t.setId, t.code] })],
  )

  /** What is known of each rates provider, and which set is served (of the row named `current`). */
  const rateFeeds = table('rate_feeds', {
    provider: text().primaryKey(),
    setId: text().references(() => rateSets.id),
    etag: text(),
    lastModified: text(),
    succeededAt: ms(),
    /** Rates that jumped and wait for a second publication to confirm them: code → rate. */
    held: json<{ date: string; rates: Record<string, number> }>(),
  })

  const attachments = table(
    'attachments',
    {
      key: text().primaryKey(),
      userId: text()
        .notNull()
        .references(() => users.id, { onDelete: 'cascade' }),
      type: text().notNull(),
      fileName: text().notNull(),
      itemType: text().notNull(),
      /** Bytes of what is stored. */
      size: int().notNull(),
      width: int(),
      height: int(),
      createdAt: ms().notNull(),
    },
    (t) => [index('attachments_user').on(t.userId)],
  )

  /** Pictures in other sizes, each beside its original. */
  const variants = table(
    'variants',
    {
      key: text().primaryKey(),
      original: text()
        .notNull()
        .references(() => attachments.key, { onDelete: 'cascade' }),
      /** Bytes. */
      size: int().notNull(),
    },
    (t) => [index('variants_original').on(t.original)],
  )

  /** Answers to uploads, for those that come again. */
  const uploadRetries = table(
    'upload_retries',
    {
      userId: text()
        .notNull()
        .references(() => users.id, { onDelete: 'cascade' }),
      retryKey: text().notNull(),
      answer: json<unknown>().notNull(),
      expiresAt: ms().notNull(),
    },
    (t) => [primaryKey({ columns: [t.userId, t.retryKey] })],
  )

  return {
    users,
    sessions,
    refreshTokens,
    identities,
    oneTimeTokens,
    recoveryCodes,
    knownDevices,
    outbox,
    limits,
    settings,
    plans,
    faqs,
    contentVersions,
    rateSets,
    rates,
    rateFeeds,
    attachments,
    variants,
    uploadRetries,
    ...buildBillingTables(columns),
    ...buildEncryptionTables(columns),
  }
}

export type Tables = ReturnType<typeof buildTables>
