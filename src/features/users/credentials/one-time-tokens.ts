import { randomBytes } from 'node:crypto'
import { and, asc, eq, lt, ne } from 'drizzle-orm'
import { sha256 } from '../../../lib/crypto.ts'
import { DAY_MS, MINUTE_MS } from '../../../lib/durations.ts'
import type { Reader, Tx } from '../../../platform/db/db.ts'
import type { UsersDb } from '../schema.ts'

export const PURPOSES = [
  'verify-email',
  'change-email',
  'cancel-email-change',
  'reset-password',
  'two-factor',
] as const
export type Purpose = (typeof PURPOSES)[number]

/** How long a token for each purpose is valid. */
export const LIFETIME_MS: Record<Purpose, number> = {
  'verify-email': DAY_MS,
  'change-email': DAY_MS,
  'cancel-email-change': DAY_MS,
  'reset-password': 30 * MINUTE_MS,
  'two-factor': 5 * MINUTE_MS,
}

/** A user may sign in on several devices at once, and each mail about an address change has its own token. */
const MULTIPLE_ALLOWED = new Set<Purpose>(['two-factor', 'cancel-email-change'])

export type OneTimeTokens = ReturnType<typeof createOneTimeTokens>

/** Single-use tokens of 256 bits. Only their hash is stored. */
export function createOneTimeTokens({ db, now }: { db: UsersDb; now: () => Date }) {
  const { oneTimeTokens } = db.tables
  return { issue, find, consume, countFailure, list, revoke, sweep }

  /** Creates a token and revokes earlier tokens for the same purpose, unless several are allowed. */
  async function issue(
    tx: Tx,
    purpose: Purpose,
    userId: string,
    email: string | null = null,
    bearerId: string | null = null,
  ) {
    if (!MULTIPLE_ALLOWED.has(purpose)) {
      await tx
        .delete(oneTimeTokens)
        .where(and(eq(oneTimeTokens.userId, userId), eq(oneTimeTokens.purpose, purpose)))
    }
    const secret = randomBytes(32).toString('base64url')
    // The hash also covers the id: a token with a changed id is invalid.
    const token = bearerId === null ? secret : `${secret}.${bearerId}`
    const expiresAt = new Date(now().getTime() + LIFETIME_MS[purpose])
    const row = { hash: sha256(token), purpose, userId, email, failures: 0, expiresAt }
    await tx.insert(oneTimeTokens).values(row)
    return token
  }

  /** The token's row if the token is valid for `purpose`, else null. */
  async function find(from: Reader, purpose: Purpose, token: string) {
    const [row] = await from
      .select()
      .from(oneTimeTokens)
      .where(eq(oneTimeTokens.hash, sha256(token)))
    return row?.purpose === purpose && row.expiresAt > now() ? row : null
  }

  /** Consumes a token; null if it is not valid. */
  async function consume(tx: Tx, purpose: Purpose, token: string) {
    const row = await find(tx, purpose, token)
    if (row) await tx.delete(oneTimeTokens).where(eq(oneTimeTokens.hash, row.hash))
    return row
  }

  /** Counts a wrong code, and deletes the token after `max` wrong codes. */
  async function countFailure(
    tx: Tx,
    { hash, failures }: { hash: string; failures: number },
    max: number,
  ) {
    const isSame = eq(oneTimeTokens.hash, hash)
    if (failures + 1 >= max) await tx.delete(oneTimeTokens).where(isSame)
    else
      await tx
        .update(oneTimeTokens)
        .set({ failures: failures + 1 })
        .where(isSame)
  }

  /** A user's pending tokens, for the export. */
  async function list(userId: string) {
    const rows = await db.read
      .select()
      .from(oneTimeTokens)
      .where(eq(oneTimeTokens.userId, userId))
      .orderBy(asc(oneTimeTokens.expiresAt), asc(oneTimeTokens.hash))
    return rows.map(({ purpose, email, expiresAt }) => ({
      purpose,
      email,
      expiresAt: expiresAt.toISOString(),
    }))
  }

  /**
   * Revokes a user's tokens. Verification links stay: they only confirm the address that they were sent
   * to, so a thief gains nothing by requesting one.
   */
  async function revoke(tx: Tx, userId: string) {
    const isRevocable = ne(oneTimeTokens.purpose, 'verify-email')
    await tx.delete(oneTimeTokens).where(and(eq(oneTimeTokens.userId, userId), isRevocable))
  }

  async function sweep() {
    await db.write(async (tx) => {
      await tx.delete(oneTimeTokens).where(lt(oneTimeTokens.expiresAt, now()))
    })
  }
}

/** The id of the user who was signed in when the token was issued; null if there was none. */
export function bearerIdIn(token: string): string | null {
  return token.split('.')[1] ?? null
}
