import { and, asc, eq, gt, inArray } from 'drizzle-orm'
import { emailKeyOf } from '../../../lib/email-address.ts'
import { accountDeleted } from '../../../lib/errors.ts'
import type { Reader, Tx } from '../../../platform/db/db.ts'
import type { UsersDb } from '../schema.ts'

/** The defaults of a new account, from the request that creates it. */
export type AccountDefaults = { name: string; locale: string; timezone: string }

type LoginType = 'email' | 'google' | 'apple' | 'guest'

const PAGE_SIZE = 1_000

export type Accounts = ReturnType<typeof createAccounts>
export type Account = UsersDb['tables']['users']['$inferSelect']

/** Creates, finds and upgrades users, in the caller's transaction. */
export function createAccounts({
  db,
  now,
  newId,
}: {
  db: UsersDb
  now: () => Date
  newId: () => string
}) {
  const { users } = db.tables
  return {
    create,
    upgrade,
    remove,
    clearAvatar,
    find,
    findByEmail,
    filterExisting,
    describe,
    rebuildEmailKeys,
  }

  async function create(
    tx: Tx,
    loginType: LoginType,
    { name, locale, timezone }: AccountDefaults,
    login: Partial<Account> = {},
  ): Promise<Account> {
    const at = now()
    const [user] = await tx
      .insert(users)
      .values({
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
      .returning()
    return user as Account
  }

  /** Turns a guest into a full account. The id stays, so files and purchases stay too. */
  async function upgrade(
    tx: Tx,
    guest: Account,
    loginType: LoginType,
    login: Partial<Account>,
  ): Promise<Account> {
    const [user] = await tx
      .update(users)
      .set({ loginType, ...login, updatedAt: now() })
      .where(eq(users.id, guest.id))
      .returning()
    return user as Account
  }

  /** Deletes the user's row and, by cascade, everything that references it. */
  async function remove(tx: Tx, userId: string) {
    await tx.delete(users).where(eq(users.id, userId))
  }

  /** Clears the avatar if it is the picture being deleted. */
  async function clearAvatar(tx: Tx, userId: string, key: string) {
    await tx
      .update(users)
      .set({ avatarKey: null })
      .where(and(eq(users.id, userId), eq(users.avatarKey, key)))
  }

  /** The ids among `ids` that belong to existing users. */
  async function filterExisting(from: Reader, ids: string[]): Promise<string[]> {
    const rows = await from.select({ id: users.id }).from(users).where(inArray(users.id, ids))
    return rows.map(({ id }) => id)
  }

  async function find(from: Reader, userId: string): Promise<Account> {
    const [user] = await from.select().from(users).where(eq(users.id, userId))
    if (!user) throw accountDeleted(userId)
    return user
  }

  async function findByEmail(from: Reader, email: string): Promise<Account | undefined> {
    const [user] = await from
      .select()
      .from(users)
      .where(eq(users.emailKey, emailKeyOf(email)))
    return user
  }

  /** The account data that is not in the profile, for the export. */
  async function describe(userId: string) {
    const { createdAt, updatedAt, emailVerifiedAt, twoFactorSince, passwordHash } = await find(
      db.read,
      userId,
    )
    return {
      createdAt: createdAt.toISOString(),
      updatedAt: updatedAt.toISOString(),
      emailVerifiedAt: emailVerifiedAt?.toISOString() ?? null,
      twoFactorSince: twoFactorSince?.toISOString() ?? null,
      hasPassword: passwordHash !== null,
    }
  }

  /**
   * Recomputes all stored e-mail keys after an upgrade of the server. Returns the ids of users
   * whose new key belongs to another user; they keep their old key.
   */
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
        if (email === null || emailKey === null || emailKey === emailKeyOf(email)) continue
        const isFree = await db.write(async (tx) => {
          if (await findByEmail(tx, email)) return false
          await tx
            .update(users)
            .set({ emailKey: emailKeyOf(email) })
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
