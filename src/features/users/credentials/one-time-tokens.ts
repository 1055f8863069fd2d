import { randomBytes } from 'node:crypto'
import { and, asc, eq, inArray, isNotNull, lt, ne, notInArray, or } from 'drizzle-orm'
import { sha256 } from '../../../lib/crypto/hash.ts'
import { toEmailKey } from '../../../lib/text/email-address.ts'
import { DAY_MS, MINUTE_MS } from '../../../lib/time/durations.ts'
import type { Reader, Tx } from '../../../platform/db/db.ts'
import {
  prepareFind,
  prepareInsert,
  prepareInsertNew,
  prepareRemove,
} from '../../../platform/db/prepared.ts'
import type { UsersDb } from '../schema.ts'

export const PURPOSES = [
  'verify-email',
  'change-email',
  'cancel-email-change',
  'reset-password',
  'two-factor',
  'passkey-registration',
] as const
export type Purpose = (typeof PURPOSES)[number]
/** For tokens of a device or an address whose account, if any, is not known yet. */
export type CodePurpose = 'email-code' | 'deletion-code'
type OpenPurpose = CodePurpose | 'invitation'
/** For links that have confirmed an address, until they expire. */
type UsedPurpose = 'confirmed'
/** For challenges and notifications that are stored only once they are used. */
type StatelessPurpose = 'passkey-sign-in' | 'apple-notification'

/** How long a token for each purpose is valid. */
export const LIFETIME_MS: Record<Purpose | OpenPurpose, number> = {
  'verify-email': DAY_MS,
  'change-email': DAY_MS,
  'cancel-email-change': DAY_MS,
  'reset-password': 30 * MINUTE_MS,
  'two-factor': 5 * MINUTE_MS,
  'passkey-registration': 5 * MINUTE_MS,
  'email-code': 10 * MINUTE_MS,
  'deletion-code': 10 * MINUTE_MS,
  invitation: 7 * DAY_MS,
}

/** How many wrong codes a challenge or a request allows. */
const MAX_ATTEMPTS = 5

/** A user may sign in on several devices at once, and each e-mail about an address change has its own token. */
const MULTIPLE_ALLOWED = new Set<Purpose>(['two-factor', 'cancel-email-change', 'reset-password'])

export type OneTimeTokens = ReturnType<typeof createOneTimeTokens>

/** Single-use tokens of 256 bits. Only their hash is stored. */
export function createOneTimeTokens({ db, now }: { db: UsersDb; now: () => Date }) {
  const { oneTimeTokens, users } = db.tables
  type Row = typeof oneTimeTokens.$inferSelect
  const insertToken = prepareInsert(db, oneTimeTokens)
  const findToken = prepareFind(db, oneTimeTokens)
  const insertUsed = prepareInsertNew(db, oneTimeTokens)
  const removeEarlier = prepareRemove(db, oneTimeTokens, 'userId', 'purpose')
  return {
    issue,
    issueOpen,
    find,
    findInvitation,
    consume,
    keepUsed,
    markUsed,
    countFailure,
    list,
    revoke,
    revokeOpen,
    removeAll,
    sweep,
  }

  /** Creates a token and revokes earlier tokens for the same purpose, unless several are allowed. */
  async function issue(
    tx: Tx,
    purpose: Purpose,
    userId: string,
    email: string | null = null,
    bearerId: string | null = null,
  ) {
    if (!MULTIPLE_ALLOWED.has(purpose)) await removeEarlier(tx, { userId, purpose })
    const secret = randomBytes(32).toString('base64url')
    // The hash also covers the id: a token with a changed id is invalid.
    const token = bearerId === null ? secret : `${secret}.${bearerId}`
    return insert(tx, purpose, token, { userId, email, emailKey: null })
  }

  /**
   * A new invitation replaces earlier ones. Earlier codes stay valid, or a stranger could void the owner's code by
   * requesting another.
   */
  async function issueOpen(tx: Tx, purpose: OpenPurpose, email: string) {
    const emailKey = toEmailKey(email)
    if (purpose === 'invitation') await revokeOpen(tx, purpose, emailKey)
    const token = randomBytes(32).toString('base64url')
    return insert(tx, purpose, token, { userId: null, email, emailKey })
  }

  async function insert(
    tx: Tx,
    purpose: Purpose | OpenPurpose,
    token: string,
    owner: Pick<Row, 'userId' | 'email' | 'emailKey'>,
  ) {
    const expiresAt = new Date(now().getTime() + LIFETIME_MS[purpose])
    await insertToken(tx, { hash: sha256(token), purpose, failures: 0, expiresAt, ...owner })
    return token
  }

  /** The token's row if the token is valid for `purpose`, otherwise null. */
  async function find<P extends Purpose | OpenPurpose | UsedPurpose>(
    from: Reader,
    purpose: P,
    token: string,
  ) {
    const row = await findToken(from, { hash: sha256(token) })
    return row?.purpose === purpose && row.expiresAt > now() ? (row as RowFor<P>) : null
  }

  /** Only tokens of an account have a user. */
  type RowFor<P> = Row & { userId: P extends Purpose | UsedPurpose ? string : null }

  async function findInvitation(from: Reader, email: string) {
    const isTheirs = eq(oneTimeTokens.emailKey, toEmailKey(email))
    const [row] = await from
      .select()
      .from(oneTimeTokens)
      .where(and(isTheirs, eq(oneTimeTokens.purpose, 'invitation')))
    return row !== undefined && row.expiresAt > now()
  }

  /** Null if the token is not valid. */
  async function consume<P extends Purpose | OpenPurpose>(tx: Tx, purpose: P, token: string) {
    const row = await find(tx, purpose, token)
    if (row) await tx.delete(oneTimeTokens).where(eq(oneTimeTokens.hash, row.hash))
    return row
  }

  async function keepUsed(tx: Tx, link: RowFor<Purpose>) {
    const purpose: UsedPurpose = 'confirmed'
    await tx.insert(oneTimeTokens).values({ ...link, purpose })
  }

  /** Records the use of a challenge that was not stored before. Returns false if it was used already. */
  async function markUsed(tx: Tx, purpose: StatelessPurpose, token: string, expiresAt: Date) {
    return insertUsed(tx, { hash: sha256(token), purpose, failures: 0, expiresAt })
  }

  /** Deletes the token after five failures. */
  async function countFailure(tx: Tx, { hash, failures }: { hash: string; failures: number }) {
    const isSame = eq(oneTimeTokens.hash, hash)
    if (failures + 1 >= MAX_ATTEMPTS) await tx.delete(oneTimeTokens).where(isSame)
    else
      await tx
        .update(oneTimeTokens)
        .set({ failures: failures + 1 })
        .where(isSame)
  }

  /** For the export. */
  async function list(userId: string) {
    const rows = await db.read
      .select()
      .from(oneTimeTokens)
      .where(and(eq(oneTimeTokens.userId, userId), ne(oneTimeTokens.purpose, 'confirmed')))
      .orderBy(asc(oneTimeTokens.expiresAt), asc(oneTimeTokens.hash))
    return rows.map(({ purpose, email, expiresAt }) => ({
      purpose,
      email,
      expiresAt: expiresAt.toISOString(),
    }))
  }

  /**
   * Keeps verification links, which are useless to a thief, and codes for an unverified address, with which its owner
   * claims the account from a stranger.
   */
  async function revoke(tx: Tx, userId: string) {
    const isVerified = and(eq(users.id, userId), isNotNull(users.emailVerifiedAt))
    const isProven = (await tx.$count(users, isVerified)) > 0
    const kept = ['verify-email', 'confirmed', ...(isProven ? [] : ['email-code', 'deletion-code'])]
    const isRevocable = notInArray(oneTimeTokens.purpose, kept)
    await tx.delete(oneTimeTokens).where(and(matchesUser(tx, userId), isRevocable))
  }

  async function revokeOpen(tx: Tx, purpose: OpenPurpose, emailKey: string) {
    const isTheirs = eq(oneTimeTokens.emailKey, emailKey)
    await tx.delete(oneTimeTokens).where(and(isTheirs, eq(oneTimeTokens.purpose, purpose)))
  }

  async function removeAll(tx: Tx, userId: string) {
    await tx.delete(oneTimeTokens).where(matchesUser(tx, userId))
  }

  /** Also matches tokens sent to the account's address. */
  function matchesUser(tx: Tx, userId: string) {
    const emailKeys = tx.select({ key: users.emailKey }).from(users).where(eq(users.id, userId))
    return or(eq(oneTimeTokens.userId, userId), inArray(oneTimeTokens.emailKey, emailKeys))
  }

  async function sweep() {
    await db.write((tx) => tx.delete(oneTimeTokens).where(lt(oneTimeTokens.expiresAt, now())))
  }
}

/** Null if no user was signed in. */
export function readBearerId(token: string): string | null {
  return token.split('.')[1] ?? null
}
