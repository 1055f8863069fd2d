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

/** How long a token of each purpose lives, in ms. */
export const LIFETIME_MS: Record<Purpose, number> = {
  'verify-email': DAY_MS,
  'change-email': DAY_MS,
  'cancel-email-change': DAY_MS,
  'reset-password': 30 * MINUTE_MS,
  'two-factor': 5 * MINUTE_MS,
}

/** Sign-ins under way on several devices, and every mail that tells of a change of address. */
const MULTIPLE_ALLOWED = new Set<Purpose>(['two-factor', 'cancel-email-change'])

export type OneTimeTokens = ReturnType<typeof createOneTimeTokens>

/** Tokens of 256 bits that work once. Only their hash is kept. */
export function createOneTimeTokens({ db, now }: { db: UsersDb; now: () => Date }) {
  const { oneTimeTokens } = db.tables
  return { issue, find, take, fail, list, revoke, sweep }

  /** Makes a token as part of the change. Earlier ones for the same purpose die, but those of `MULTIPLE_ALLOWED`. */
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
    // Nobody can change the id: the hash is of the whole token.
    const token = bearerId === null ? secret : `${secret}.${bearerId}`
    const expiresAt = new Date(now().getTime() + LIFETIME_MS[purpose])
    const row = { hash: sha256(token), purpose, userId, email, failures: 0, expiresAt }
    await tx.insert(oneTimeTokens).values(row)
    return token
  }

  /** The token's row when it is good for `purpose`. */
  async function find(from: Reader, purpose: Purpose, token: string) {
    const [row] = await from
      .select()
      .from(oneTimeTokens)
      .where(eq(oneTimeTokens.hash, sha256(token)))
    return row?.purpose === purpose && row.expiresAt > now() ? row : null
  }

  /** Uses a token up as part of the change; null when it is not good (any more). */
  async function take(tx: Tx, purpose: Purpose, token: string) {
    const row = await find(tx, purpose, token)
    if (row) await tx.delete(oneTimeTokens).where(eq(oneTimeTokens.hash, row.hash))
    return row
  }

  /** Counts a wrong answer; with the last one that is allowed the token dies. */
  async function fail(tx: Tx, { hash, failures }: { hash: string; failures: number }, max: number) {
    const isSame = eq(oneTimeTokens.hash, hash)
    if (failures + 1 >= max) await tx.delete(oneTimeTokens).where(isSame)
    else
      await tx
        .update(oneTimeTokens)
        .set({ failures: failures + 1 })
        .where(isSame)
  }

  /** What is pending for a user, such as a change to another address, for the export. */
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
   * Revokes a user's tokens as part of the change. Verification links stay: they only confirm the
   * address that they were mailed to, so a thief gains nothing by asking for one.
   */
  async function revoke(tx: Tx, userId: string) {
    const isRisky = ne(oneTimeTokens.purpose, 'verify-email')
    await tx.delete(oneTimeTokens).where(and(eq(oneTimeTokens.userId, userId), isRisky))
  }

  async function sweep() {
    await db.write(async (tx) => {
      await tx.delete(oneTimeTokens).where(lt(oneTimeTokens.expiresAt, now()))
    })
  }
}

/** The user whose bearer token was sent when a token was issued; null for none. */
export function bearerIdIn(token: string): string | null {
  return token.split('.')[1] ?? null
}
