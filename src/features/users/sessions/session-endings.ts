import { and, asc, eq, inArray, lt, lte, ne, or, type SQL, sql } from 'drizzle-orm'
import type { DenialReason } from '../../../lib/errors.ts'
import { createLruMap } from '../../../lib/lru-map.ts'
import type { Tx } from '../../../platform/db/db.ts'
import type { UsersContext } from '../context/context.ts'

/** Why a session ended. `revoked`: the account was secured, or the user had too many sessions. */
export type SessionEndReason = Extract<
  DenialReason,
  'signed_out' | 'revoked' | 'token_reused' | 'session_expired'
>

export type SessionEndings = ReturnType<typeof createSessionEndings>

const MAX_SESSIONS = 20
/** A reason is needed while an access token outlives its session, at most 15 minutes; older reasons are in the log. */
const MAX_RECENT_ENDS = 5_000

/** Ends sessions, in the caller's transaction. Access and refresh tokens end with their session. */
export function createSessionEndings({ db, onSessionsEnded, log }: UsersContext) {
  const { sessions, refreshTokens, knownDevices } = db.tables
  const recentEnds = createLruMap<string, SessionEndReason>(MAX_RECENT_ENDS)
  const openSessions = db.prepareWrite((tx) =>
    tx
      .select({ id: sessions.id })
      .from(sessions)
      .where(eq(sessions.userId, sql.placeholder('userId')))
      .orderBy(asc(sessions.lastUsedAt)),
  )
  return {
    endOne,
    endIfOwned,
    endOthers,
    endAll,
    endExpired,
    clearExpired,
    evictOldest,
    findReason,
  }

  async function endOne(tx: Tx, sessionId: string, reason: SessionEndReason) {
    await remove(tx, eq(sessions.id, sessionId), reason)
  }

  /** Returns whether the session is the user's. */
  async function endIfOwned(
    tx: Tx,
    userId: string,
    sessionId: string,
    reason: SessionEndReason,
  ): Promise<boolean> {
    const isTheirs = and(eq(sessions.id, sessionId), eq(sessions.userId, userId))
    return (await remove(tx, isTheirs, reason)) > 0
  }

  async function endOthers(tx: Tx, userId: string, keptSession: string, reason: SessionEndReason) {
    const isOther = and(eq(sessions.userId, userId), ne(sessions.id, keptSession))
    await remove(tx, isOther, reason)
  }

  async function endAll(tx: Tx, userId: string, reason: SessionEndReason) {
    await remove(tx, eq(sessions.userId, userId), reason)
  }

  /** Deletes up to `limit` tokens of the sessions that `endExpired` would end, and returns how many it found. */
  async function clearExpired(
    tx: Tx,
    range: SQL | undefined,
    at: Date,
    idleSince: Date,
    limit: number,
  ): Promise<number> {
    const rows = await tx
      .select({ hash: refreshTokens.hash })
      .from(refreshTokens)
      .innerJoin(sessions, eq(sessions.id, refreshTokens.sessionId))
      .where(and(range, isExpired(at, idleSince)))
      .limit(limit)
    const hashes = rows.map(({ hash }) => hash)
    if (hashes.length > 0) await tx.delete(refreshTokens).where(inArray(refreshTokens.hash, hashes))
    return hashes.length
  }

  /** Ends the sessions in a range that have expired or were last used at `idleSince` or before. */
  async function endExpired(tx: Tx, range: SQL | undefined, at: Date, idleSince: Date) {
    await remove(tx, and(range, isExpired(at, idleSince)), 'session_expired')
  }

  function isExpired(at: Date, idleSince: Date) {
    return or(lte(sessions.expiresAt, at), lte(sessions.lastUsedAt, idleSince))
  }

  /** Makes room for one more session. */
  async function evictOldest(tx: Tx, userId: string) {
    const open = await openSessions(tx).execute({ userId })
    for (const { id } of open.slice(0, Math.max(0, open.length + 1 - MAX_SESSIONS))) {
      await endOne(tx, id, 'revoked')
    }
  }

  /** Deletes sessions, and records when their devices were last seen. Returns the number of deleted sessions. */
  async function remove(
    tx: Tx,
    isEnded: SQL | undefined,
    reason: SessionEndReason,
  ): Promise<number> {
    const { userId, device, seenAt } = knownDevices
    const ended = await tx.delete(sessions).where(isEnded).returning()
    for (const session of ended) {
      const isSame = and(eq(userId, session.userId), eq(device, session.device))
      await tx
        .update(knownDevices)
        .set({ seenAt: session.lastUsedAt })
        .where(and(isSame, lt(seenAt, session.lastUsedAt)))
    }
    // Expired sessions end by the thousand, and their apps notice at the next request.
    if (reason !== 'session_expired') await onSessionsEnded(tx, ended)
    tx.afterCommit(() => {
      for (const session of ended) recordEnd(session, reason)
    })
    return ended.length
  }

  function recordEnd(
    { id: sessionId, userId }: { id: string; userId: string },
    reason: SessionEndReason,
  ) {
    recentEnds.set(sessionId, reason)
    // Thousands of sessions expire each night; logging them would be noise.
    if (reason !== 'session_expired') log.info({ userId, sessionId, reason }, 'a session ended')
  }

  /** `session_ended` unless this process ended the session recently. */
  function findReason(sessionId: string): DenialReason {
    return recentEnds.get(sessionId) ?? 'session_ended'
  }
}
