import { and, asc, eq, lte, ne, or, type SQL } from 'drizzle-orm'
import type { Tx } from '../../../db/db.ts'
import type { PeopleDb } from '../schema.ts'

export type SessionEndings = ReturnType<typeof createSessionEndings>

const SESSIONS_LIMIT = 20

/** Every way in which sessions end, each as part of a change. Access and refresh tokens die with their session. */
export function createSessionEndings({ db }: { db: PeopleDb }) {
  const { sessions } = db.tables
  return { endOne, endOneOf, endOthers, endAll, endExpired, evictOldest }

  async function endOne(tx: Tx, sessionId: string) {
    await tx.delete(sessions).where(eq(sessions.id, sessionId))
  }

  /** Ends one session if it is the user's; false when it is not. */
  async function endOneOf(tx: Tx, userId: string, sessionId: string): Promise<boolean> {
    const ended = await tx
      .delete(sessions)
      .where(and(eq(sessions.id, sessionId), eq(sessions.userId, userId)))
      .returning({ id: sessions.id })
    return ended.length > 0
  }

  async function endOthers(tx: Tx, userId: string, keptSession: string) {
    await tx.delete(sessions).where(and(eq(sessions.userId, userId), ne(sessions.id, keptSession)))
  }

  async function endAll(tx: Tx, userId: string) {
    await tx.delete(sessions).where(eq(sessions.userId, userId))
  }

  /** Ends those sessions of a range that are past their end, or were last used at `idleSince` or before. */
  async function endExpired(tx: Tx, range: SQL | undefined, at: Date, idleSince: Date) {
    const isExpired = or(lte(sessions.expiresAt, at), lte(sessions.lastUsedAt, idleSince))
    await tx.delete(sessions).where(and(range, isExpired))
  }

  /** Ends the least recently used sessions, so that one more is within the limit. */
  async function evictOldest(tx: Tx, userId: string) {
    const open = await tx
      .select({ id: sessions.id })
      .from(sessions)
      .where(eq(sessions.userId, userId))
      .orderBy(asc(sessions.lastUsedAt))
    for (const { id } of open.slice(0, Math.max(0, open.length + 1 - SESSIONS_LIMIT))) {
      await endOne(tx, id)
    }
  }
}
