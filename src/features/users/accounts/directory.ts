import { asc, desc, inArray } from 'drizzle-orm'
import type { AccessStatus } from '../../../lib/access-status.ts'
import { AppError, notFound } from '../../../lib/errors.ts'
import { toEmailPrefix } from '../../../lib/text/email-address.ts'
import type { Tx } from '../../../platform/db/db.ts'
import { beginsWith, countRows } from '../../../platform/db/key-ranges.ts'
import { prepareFind } from '../../../platform/db/prepared.ts'
import { findPage } from '../../../platform/lists/find-page.ts'
import { createSources } from '../../../platform/lists/sources.ts'
import type { UsersContext } from '../context/context.ts'
import { type Account, formatLastSeen } from './accounts.ts'

export type Directory = ReturnType<typeof createDirectory>

type Page = {
  emailPrefix?: string | undefined
  after?: string | undefined
  limit?: number | undefined
  count?: 'index'
}

export type AccountSummary = ReturnType<typeof toSummary>

export type ListedUser = AccountSummary & { status: AccessStatus; plan: string | null }

/** `unlinkedIds`: app user ids in billing events that belong to no user. */
export type FoundUsers = {
  users: ListedUser[]
  next: string | null
  unlinkedIds: string[]
  /** The transaction ids of purchases that begin with the text. */
  purchaseIds: string[]
  /** Whether more users have a matching name or id than are listed. */
  hasMoreNames: boolean
  eventId: string | null
  /** How many users match the filters, counted up to 1,001; null if unknown. */
  total: number | null
  /** The last user that was compared with the filters, if the page is short because of that. */
  scannedTo: AccountSummary | null
}

export const PAGE_SIZE = 50

export function createDirectory({ db, accounts }: UsersContext) {
  const { users, sessions } = db.tables
  const findAccount = prepareFind(db, users)
  return {
    list,
    page,
    listByIds,
    listByIdPrefix,
    findNames,
    find,
    findById,
    findByEmail,
    findId,
    count,
    setEmailVerified,
    setEmailVerifiedWithin,
  }

  /** Newest first; with `emailPrefix`, by address. */
  async function list(wanted: Page) {
    const { accounts, ...rest } = await page(wanted)
    return { users: accounts.map(toSummary), ...rest }
  }

  /** Returns whole accounts. */
  async function page({ emailPrefix, after, limit = PAGE_SIZE, count }: Page) {
    const byEmail = emailPrefix !== undefined
    const key = byEmail ? users.emailKey : users.id
    const where = byEmail ? beginsWith(key, toEmailPrefix(emailPrefix)) : undefined
    const sources = createSources({ read: db.read, table: users, key, isDescending: !byEmail }, [
      { where, isIndexed: true },
    ])
    const { rows, next, total } = await findPage({
      sources,
      after: after || undefined,
      limit,
      count,
    })
    return { accounts: rows, next, total }
  }

  async function listByIds(ids: string[]): Promise<AccountSummary[]> {
    const rows = await db.read
      .select()
      .from(users)
      .where(inArray(users.id, ids))
      .orderBy(desc(users.id))
    return rows.map(toSummary)
  }

  /** At most one page, and one more if there are more. */
  async function listByIdPrefix(prefix: string): Promise<AccountSummary[]> {
    const rows = await db.read
      .select()
      .from(users)
      .where(beginsWith(users.id, prefix))
      .orderBy(asc(users.id))
      .limit(PAGE_SIZE + 1)
    return rows.map(toSummary)
  }

  /** The names or e-mail addresses of those `ids` that belong to users, by id; empty for guests. */
  async function findNames(ids: (string | null)[]): Promise<Record<string, string>> {
    const wanted = [...new Set(ids.filter((id) => id !== null))]
    if (wanted.length === 0) return {}
    const rows = await db.read
      .select({ id: users.id, name: users.name, email: users.email })
      .from(users)
      .where(inArray(users.id, wanted))
    return Object.fromEntries(rows.map(({ id, name, email }) => [id, name || (email ?? '')]))
  }

  /** Throws `not_found`. */
  async function find(idOrEmail: string): Promise<Account> {
    const known = await findAccount(db.read, { id: idOrEmail })
    const user = known ?? (await accounts.findByEmail(db.read, idOrEmail))
    if (!user) throw new AppError('not_found', `There is no user ${idOrEmail}.`)
    return user
  }

  /** Throws `not_found`. */
  async function findById(id: string): Promise<Account> {
    const user = await findAccount(db.read, { id })
    if (!user) throw notFound()
    return user
  }

  function findByEmail(email: string): Promise<Account | undefined> {
    return accounts.findByEmail(db.read, email)
  }

  async function findId(email: string): Promise<string | null> {
    return (await accounts.findByEmail(db.read, email))?.id ?? null
  }

  async function count() {
    return {
      users: await countRows(db.read, users, users.id),
      sessions: await countRows(db.read, sessions, sessions.id),
    }
  }

  /** For an operator or a server. The user can then sign in with a verified address. Throws `email_taken`. */
  async function setEmailVerified(account: Account, isVerified: boolean) {
    await db.write((tx) => setEmailVerifiedWithin(tx, account, isVerified))
  }

  async function setEmailVerifiedWithin(tx: Tx, account: Account, isVerified: boolean) {
    const email = requireAddress(await accounts.find(tx, account.id))
    if (email !== account.email) throw addressChanged()
    if (isVerified) await accounts.setVerifiedAddress(tx, account.id, email)
    else await accounts.update(tx, account.id, { emailVerifiedAt: null })
  }
}

/** Throws `conflict` if the user has no address. */
export function requireAddress({ id, email }: Account): string {
  if (email === null) throw new AppError('conflict', `The user ${id} has no e-mail address.`)
  return email
}

function addressChanged(): AppError {
  return new AppError('conflict', 'The e-mail address has just been changed.')
}

function toSummary(account: Account) {
  const { id, email, loginType, name, emailVerifiedAt, createdAt, lastSeenAt } = account
  return {
    id,
    email: email ?? '',
    loginType,
    name,
    emailVerified: emailVerifiedAt !== null,
    createdAt: createdAt.toISOString(),
    lastSeenAt: formatLastSeen(lastSeenAt),
    platform: account.platform,
    country: account.country,
  }
}
