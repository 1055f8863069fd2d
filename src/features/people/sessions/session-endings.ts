import { and, asc, eq, lt, lte, ne, or, type SQL } from 'drizzle-orm'
import type { Tx } from '../../../db/db.ts'
import type { PeopleDb } from '../schema.ts'

export type SessionEndings = ReturnType<typeof createSessionEndings>

const SESSIONS_LIMIT = 20

/** Every way in which sessions end, each as part of a change. Access and refresh tokens die with their session. */
export function createSessionEndings({ db }: { db: PeopleDb }) {
  const { sessions, knownDevices } = db.tables
  return { endOne, endOneOf, endOthers, endAll, endExpired, evictOldest }

  async function endOne(tx: Tx, sessionId: string) {
    await remove(tx, eq(sessions.id, sessionId))
  }

  /** Ends one session if it is the user's; false when it is not. */
  async function endOneOf(tx: Tx, userId: string, sessionId: string): Promise<boolean> {
    const isTheirs = and(eq(sessions.id, sessionId), eq(sessions.userId, userId))
    return (await remove(tx, isTheirs)) > 0
  }

  async function endOthers(tx: Tx, userId: string, keptSession: string) {
    await remove(tx, and(eq(sessions.userId, userId), ne(sessions.id, keptSession)))
  }

  async function endAll(tx: Tx, userId: string) {
    await remove(tx, eq(sessions.userId, userId))
  }

  /** Ends those sessions of a range that are past their end, or were last used at `idleSince` or before. */
  async function endExpired(tx: Tx, range: SQL | undefined, at: Date, idleSince: Date) {
    const isExpired = or(lte(sessions.expiresAt, at), lte(sessions.lastUsedAt, idleSince))
    await remove(tx, and(range, isExpired))
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

  /** Removes sessions and keeps when their devices were last seen. Returns how many were removed. */
  async function remove(tx: Tx, isEnded: SQL | undefined): Promise<number> {
    const { userId, device, seenAt } = knownDevices
    const ended = await tx.delete(sessions).where(isEnded).returning()
    for (const session of ended) {
      const isSame = and(eq(userId, session.userId), eq(device, session.device))
      await tx
        .update(knownDevices)
        .set({ seenAt: session.lastUsedAt })
        .where(and(isSame, lt(seenAt, session.lastUsedAt)))
    }
    return ended.length
  }
}
