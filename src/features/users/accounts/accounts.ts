import { asc, eq, gt, inArray, sql } from 'drizzle-orm'
import { AppError, accountDeleted } from '../../../lib/errors.ts'
import { toEmailKey } from '../../../lib/text/email-address.ts'
import type { Reader, Tx } from '../../../platform/db/db.ts'
import {
  prepareFind,
  prepareInsertReturning,
  prepareSelect,
  prepareUpdate,
} from '../../../platform/db/prepared.ts'
import type { UsersDb } from '../schema.ts'
import { createUserNames } from './user-names.ts'

export type AccountDefaults = { name: string; locale: string; timezone: string }

export type LoginType = 'email' | 'google' | 'apple' | 'oidc' | 'passkey' | 'guest'

const PAGE_SIZE = 1_000

export type Accounts = ReturnType<typeof createAccounts>
export type Account = UsersDb['tables']['users']['$inferSelect']

type AccountChange =
  | { kind: 'created' | 'updated'; account: Account }
  | { kind: 'deleted'; userId: string; mergedInto: string | null }

type AccountsDeps = {
  db: UsersDb
  /** Runs once per transaction and account, before the commit. */
  onChange: (tx: Tx, change: AccountChange) => Promise<void>
  now: () => Date
  newId: () => string
}

/** All changes happen in the caller's transaction. */
export function createAccounts({ db, onChange, now, newId }: AccountsDeps) {
  const { users } = db.tables
  const names = createUserNames(db)
  const { id, emailKey } = users
  const findId = prepareSelect(db, (from) =>
    from
      .select({ id })
      .from(users)
      .where(eq(id, sql.placeholder('id'))),
  )
  const findUser = prepareFind(db, users)
  const insertUser = prepareInsertReturning(db, users)
  const updateUser = prepareUpdate(db, users)
  const findUserByEmail = prepareSelect(db, (from) =>
    from
      .select()
      .from(users)
      .where(eq(emailKey, sql.placeholder('emailKey'))),
  )
  return {
    names,
    create,
    update,
    requireFreeAddress,
    setVerifiedAddress,
    remove,
    clearAvatar,
    find,
    findByEmail,
    exists,
    existsWithin,
    filterExisting,
    exportAccount,
    rebuildEmailKeys,
  }

  async function create(
    tx: Tx,
    loginType: LoginType,
    { name, locale, timezone }: AccountDefaults,
    login: Partial<Account> = {},
  ): Promise<Account> {
    const at = now()
    const user = await insertUser(tx, {
      id: newId(),
      loginType,
      name,
      locale,
      timezone,
      currency: 'usd',
      onboardingCompleted: false,
      createdAt: at,
      updatedAt: at,
      ...login,
    })
    await names.replace(tx, user)
    announce(tx, user.id, 'created')
    return user
  }

  /** Changes fields that the user's apps and other services see. Throws when the account no longer exists. */
  async function update(tx: Tx, userId: string, changes: Partial<Account>): Promise<Account> {
    const before = await find(tx, userId)
    // A request that changes nothing must not be announced.
    if (isNoOp(changes, before)) return before
    const changed = { ...changes, updatedAt: now() }
    await updateUser(tx, { id: userId }, changed)
    const user = { ...before, ...changed }
    if (changes.name !== undefined) await names.replace(tx, user)
    announce(tx, userId, 'updated')
    return user
  }

  /** Throws `email_taken` if an account other than the user's has the address. */
  async function requireFreeAddress(from: Reader, email: string, userId: string | null = null) {
    const holder = await findByEmail(from, email)
    if (holder && holder.id !== userId)
      throw new AppError('email_taken', 'Another account has this e-mail address.')
  }

  /** Gives the user a verified address to sign in with. Throws `email_taken`. */
  async function setVerifiedAddress(tx: Tx, userId: string, email: string) {
    await requireFreeAddress(tx, email, userId)
    const emailKey = toEmailKey(email)
    const before = await find(tx, userId)
    const verifiedAt = before.emailKey === emailKey ? before.emailVerifiedAt : null
    await update(tx, userId, { email, emailKey, emailVerifiedAt: verifiedAt ?? now() })
  }

  /** Also deletes rows that reference the account. `mergedInto`: the account that now has the guest's data. */
  async function remove(tx: Tx, userId: string, mergedInto: string | null = null) {
    const deleted = await tx.delete(users).where(eq(users.id, userId)).returning({ id: users.id })
    if (deleted.length > 0) announce(tx, userId, 'updated', mergedInto)
  }

  /** The first announcement in a transaction counts, unless the account no longer exists before the commit. */
  function announce(
    tx: Tx,
    userId: string,
    kind: 'created' | 'updated',
    mergedInto: string | null = null,
  ) {
    tx.beforeCommit(`account ${userId}`, async (tx) => {
      const account = await findUser(tx, { id: userId })
      await onChange(tx, account ? { kind, account } : { kind: 'deleted', userId, mergedInto })
    })
  }

  async function clearAvatar(tx: Tx, userId: string, key: string) {
    const { avatarKey } = await find(tx, userId)
    if (avatarKey === key) await update(tx, userId, { avatarKey: null })
  }

  async function exists(id: string): Promise<boolean> {
    return (await findId(db.read).execute({ id })).length > 0
  }

  async function existsWithin(tx: Tx, id: string): Promise<boolean> {
    return (await findId(tx).execute({ id })).length > 0
  }

  async function filterExisting(from: Reader, ids: string[]): Promise<string[]> {
    const [only, ...others] = ids
    if (only === undefined) return []
    if (others.length === 0) return (await findId(from).execute({ id: only })).map(({ id }) => id)
    const rows = await from.select({ id: users.id }).from(users).where(inArray(users.id, ids))
    return rows.map(({ id }) => id)
  }

  async function find(from: Reader, userId: string): Promise<Account> {
    const user = await findUser(from, { id: userId })
    if (!user) throw accountDeleted(userId)
    return user
  }

  async function findByEmail(from: Reader, email: string): Promise<Account | undefined> {
    const [user] = await findUserByEmail(from).execute({ emailKey: toEmailKey(email) })
    return user
  }

  /** For the export, without the profile. */
  async function exportAccount(userId: string) {
    const account = await find(db.read, userId)
    const { createdAt, updatedAt, emailVerifiedAt, twoFactorSince, passwordHash } = account
    const { lastSeenAt, platform, country } = account
    return {
      createdAt: createdAt.toISOString(),
      updatedAt: updatedAt.toISOString(),
      emailVerifiedAt: emailVerifiedAt?.toISOString() ?? null,
      twoFactorSince: twoFactorSince?.toISOString() ?? null,
      hasPassword: passwordHash !== null,
      lastSeenAt: formatLastSeen(lastSeenAt),
      platform,
      country,
    }
  }

  /** Runs after a server upgrade. Returns users whose new key belongs to another user; they keep their old key. */
  async function rebuildEmailKeys(): Promise<string[]> {
    const conflictingIds: string[] = []
    for (let after = ''; ; ) {
      const rows = await db.read
        .select({ id: users.id, email: users.email, emailKey: users.emailKey })
        .from(users)
        .where(gt(users.id, after))
        .orderBy(asc(users.id))
        .limit(PAGE_SIZE)
      for (const { id, email, emailKey } of rows) {
        if (email === null || emailKey === null || emailKey === toEmailKey(email)) continue
        const isFree = await db.write(async (tx) => {
          if (await findByEmail(tx, email)) return false
          await tx
            .update(users)
            .set({ emailKey: toEmailKey(email) })
            .where(eq(users.id, id))
          return true
        })
        if (!isFree) conflictingIds.push(id)
      }
      const last = rows.at(-1)
      if (!last) return conflictingIds
      after = last.id
    }
  }
}

function isNoOp(changes: Partial<Account>, account: Account): boolean {
  const known: Record<string, unknown> = account
  return Object.entries(changes).every(([name, value]) => known[name] === value)
}

/** Null if the user was never seen. */
export function formatLastSeen(lastSeenAt: Date): string | null {
  return lastSeenAt.getTime() === 0 ? null : lastSeenAt.toISOString()
}
