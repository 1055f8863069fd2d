import { and, eq, gt, inArray, isNull, sql } from 'drizzle-orm'
import { AppError } from '../../../lib/errors.ts'
import { DAY_MS, MINUTE_MS } from '../../../lib/time/durations.ts'
import { repeatInBatches } from '../../../platform/db/batched-changes.ts'
import type { Tx } from '../../../platform/db/db.ts'
import { keyRanges } from '../../../platform/db/key-ranges.ts'
import { prepareInsert, prepareRemove, prepareUpdate } from '../../../platform/db/prepared.ts'
import type { Device } from '../../../platform/http/request/request-headers.ts'
import type { Account } from '../accounts/accounts.ts'
import type { UsersContext } from '../context/context.ts'
import type { LastSeen } from './last-seen.ts'
import type { SessionEndings } from './session-endings.ts'
import { type AccessClaims, hashToken, notSignedIn } from './tokens.ts'

const IDLE_LIFETIME_MS = 60 * DAY_MS
const MAX_LIFETIME_MS = 365 * DAY_MS

/** How long a refresh token is accepted again after its successor was first used. */
const RETRY_WINDOW_MS = MINUTE_MS
/** Each refresh stores a row that lasts as long as the session. Allows a burst, then one refresh per interval (ms). */
const REFRESH_LIMIT = { burst: 100, interval: 15_000 }
/** Older tokens of a session are forgotten: deleting many at once, with their session, would hold up all requests. */
const MAX_KNOWN_TOKENS = 500
const TOKENS_PER_CHANGE = 500
/** The longest overlap of requests by two processes that share a session. */
const OVERLAP_MS = 5_000

type SessionsDeps = UsersContext & {
  endings: SessionEndings
  lastSeen: LastSeen
  /** In the transaction that ends the session. */
  onTokenReuse: (
    tx: Tx,
    session: { userId: string; sessionId: string; device: string },
  ) => Promise<void>
}

/** The claims of a new access token, and the refresh token that goes with it. */
export type TokenGrant = AccessClaims & { refreshToken: string }

export type Sessions = ReturnType<typeof createSessions>

/** One session per device: a chain of refresh tokens, each replaced when it is used. */
export function createSessions(deps: SessionsDeps) {
  const { db, tokens, limits, endings, lastSeen, now, newId, onTokenReuse } = deps
  const { users, sessions, refreshTokens } = db.tables
  const { id, lastSeenAt, platform, country, loginType } = users
  const selectFamily = db.prepareWrite((tx) =>
    tx
      .select({
        session: sessions,
        generation: refreshTokens.generation,
        loginType,
        seen: { id, lastSeenAt, platform, country },
      })
      .from(refreshTokens)
      .innerJoin(sessions, eq(sessions.id, refreshTokens.sessionId))
      .innerJoin(users, eq(users.id, sessions.userId))
      .where(eq(refreshTokens.hash, sql.placeholder('hash'))),
  )
  const insertSession = prepareInsert(db, sessions)
  const updateSession = prepareUpdate(db, sessions)
  const insertToken = prepareInsert(db, refreshTokens)
  const removeToken = prepareRemove(db, refreshTokens, 'sessionId', 'generation')
  const useToken = db.prepareWrite((tx) =>
    tx
      .update(refreshTokens)
      .set({ firstUsedAt: sql.placeholder('at') as never })
      .where(
        and(
          eq(refreshTokens.sessionId, sql.placeholder('sessionId')),
          eq(refreshTokens.generation, sql.placeholder('generation')),
          isNull(refreshTokens.firstUsedAt),
        ),
      ),
  )
  const activeSession = db.read
    .select({
      userId: sessions.userId,
      expiresAt: sessions.expiresAt,
      firstUsedAt: refreshTokens.firstUsedAt,
    })
    .from(sessions)
    .innerJoin(refreshTokens, eq(refreshTokens.sessionId, sessions.id))
    .where(
      and(
        eq(sessions.id, sql.placeholder('sessionId')),
        eq(refreshTokens.generation, sql.placeholder('generation')),
      ),
    )
    .prepare()
  return { open, check, filterActive, refresh, end, sweep }

  /** In the caller's transaction. */
  async function open(tx: Tx, user: Account, device: Device): Promise<TokenGrant> {
    const { id: userId } = user
    const { name, sealed } = device
    const at = now()
    const id = newId()
    const expiresAt = new Date(at.getTime() + MAX_LIFETIME_MS)
    await insertSession(tx, {
      id,
      userId,
      device: name,
      sealed,
      generation: 0,
      createdAt: at,
      lastUsedAt: at,
      expiresAt,
    })
    const refreshToken = tokens.mintRefresh()
    await addToken(tx, refreshToken, id, 0)
    await lastSeen.record(tx, user, device)
    return { userId, sessionId: id, generation: 0, sealed, refreshToken }
  }

  /** The claims of an access token. Its session must be active, and a sealed session needs sealed requests. */
  async function check(accessToken: string, sealed: boolean): Promise<AccessClaims> {
    const claims = await tokens.verifyAccess(accessToken)
    const [row] = await activeSession.execute(claims)
    const { userId, sessionId } = claims
    if (!row || row.userId !== userId) {
      throw notSignedIn({ reason: endings.findReason(sessionId), userId, sessionId })
    }
    if (row.expiresAt <= now()) throw notSignedIn({ reason: 'session_expired', userId, sessionId })
    if (claims.sealed && !sealed) throw sealingRequired()
    if (row.firstUsedAt === null) await recordFirstUse(claims)
    return claims
  }

  async function filterActive(ids: string[]): Promise<string[]> {
    const isActive = and(inArray(sessions.id, ids), gt(sessions.expiresAt, now()))
    const rows = await db.read.select({ id: sessions.id }).from(sessions).where(isActive)
    return rows.map(({ id }) => id)
  }

  /**
   * A client that missed the response can repeat a used token, until 60 s after its successor was first used. After
   * that, the token counts as stolen and the session ends. The same applies to a second token in a row that is repeated
   * after its successor was used; but within 5 s of that use, two processes may have refreshed at once, so the token is
   * only refused. A guest cannot sign in again, so a guest's token works until its successor is used for a refresh.
   */
  async function refresh(token: string, device: Omit<Device, 'name'>): Promise<TokenGrant> {
    const { sealed } = device
    const hash = hashToken(token)
    const outcome = await db.write(async (tx) => {
      const at = now()
      const found = await findFamily(tx, hash)
      if (!found) return { denial: { reason: 'unknown_token' } } as const
      const { session, generation, loginType, seen } = found
      const ids = { userId: session.userId, sessionId: session.id }
      const family = { ...ids, sealed: session.sealed }
      if (session.sealed && !sealed) throw sealingRequired()
      if (
        session.expiresAt <= at ||
        session.lastUsedAt.getTime() + IDLE_LIFETIME_MS <= at.getTime()
      ) {
        await endings.endOne(tx, session.id, 'session_expired')
        return { denial: { reason: 'session_expired', ...ids } } as const
      }
      if (generation < session.generation) {
        const usedAt = await findFirstUse(tx, session.id, generation + 1)
        const age = usedAt === null ? 0 : at.getTime() - usedAt.getTime()
        const isSecondInRow = usedAt !== null && session.repeatedGeneration === generation - 1
        if (isSecondInRow && age <= OVERLAP_MS) throw refreshedElsewhere()
        const isGuestsLast = loginType === 'guest' && generation === session.generation - 1
        if (!isGuestsLast && (isSecondInRow || age > RETRY_WINDOW_MS)) {
          await endings.endOne(tx, session.id, 'token_reused')
          await onTokenReuse(tx, { ...family, device: session.device })
          return { denial: { reason: 'token_reused', ...ids } } as const
        }
        if (usedAt !== null)
          await updateSession(tx, { id: session.id }, { repeatedGeneration: generation })
      }
      const successor = tokens.deriveSuccessor(token)
      if (generation === session.generation) {
        if (limits.isOn) checkRate(session, at)
        await markUsed(tx, { ...family, generation }, at)
        await addToken(tx, successor, session.id, generation + 1)
        await updateSession(tx, { id: session.id }, { generation: generation + 1 })
        const forgotten = generation - MAX_KNOWN_TOKENS
        await removeToken(tx, { sessionId: session.id, generation: forgotten })
        await lastSeen.record(tx, seen, device)
      }
      if (loginType === 'guest') await prolong(tx, session.id, at)
      return { grant: { ...family, generation: generation + 1, refreshToken: successor } } as const
    })
    if ('grant' in outcome) return outcome.grant
    throw notSignedIn(outcome.denial)
  }

  /** A guest cannot sign in again, so ending a session in use would lose the account. */
  async function prolong(tx: Tx, sessionId: string, at: Date) {
    const expiresAt = new Date(at.getTime() + MAX_LIFETIME_MS)
    await updateSession(tx, { id: sessionId }, { expiresAt, lastUsedAt: at })
  }

  async function end(sessionId: string) {
    await db.write((tx) => endings.endOne(tx, sessionId, 'signed_out'))
  }

  async function sweep(signal: AbortSignal) {
    const at = now()
    const idleSince = new Date(at.getTime() - IDLE_LIFETIME_MS)
    for await (const range of keyRanges(db.read, sessions, sessions.id)) {
      if (signal.aborted) return
      await repeatInBatches(
        db,
        TOKENS_PER_CHANGE,
        (tx) => endings.clearExpired(tx, range, at, idleSince, TOKENS_PER_CHANGE),
        signal,
      )
      if (signal.aborted) return
      await db.write((tx) => endings.endExpired(tx, range, at, idleSince))
    }
  }

  async function findFamily(tx: Tx, hash: string) {
    const [row] = await selectFamily(tx).execute({ hash })
    return row
  }

  async function findFirstUse(tx: Tx, sessionId: string, generation: number): Promise<Date | null> {
    const [row] = await tx
      .select({ firstUsedAt: refreshTokens.firstUsedAt })
      .from(refreshTokens)
      .where(and(eq(refreshTokens.sessionId, sessionId), eq(refreshTokens.generation, generation)))
    return row?.firstUsedAt ?? null
  }

  /** Ignores failures: reads must work while the disk is full or locked, and a later use is recorded instead. */
  async function recordFirstUse(claims: AccessClaims) {
    try {
      await db.write((tx) => markUsed(tx, claims, now()))
    } catch (error) {
      if (!(error instanceof AppError)) throw error
    }
  }

  async function markUsed(tx: Tx, { sessionId, generation }: AccessClaims, at: Date) {
    await useToken(tx).execute({ sessionId, generation, at })
    await updateSession(tx, { id: sessionId }, { lastUsedAt: at })
  }

  async function addToken(tx: Tx, token: string, sessionId: string, generation: number) {
    await insertToken(tx, { hash: hashToken(token), sessionId, generation })
  }
}

function sealingRequired(): AppError {
  return new AppError(
    'encryption_required',
    'This session was opened with a sealed request: seal all its requests.',
  )
}

/** A session from the future was opened while the clock was wrong, and has no limit until then. */
function checkRate({ generation, createdAt }: { generation: number; createdAt: Date }, at: Date) {
  if (createdAt > at) return
  const { burst, interval } = REFRESH_LIMIT
  const wait = createdAt.getTime() + (generation + 1 - burst) * interval - at.getTime()
  if (wait <= 0) return
  throw new AppError('rate_limited', 'This session is refreshed too often. Wait a moment.', {
    retryAfterSeconds: Math.ceil(wait / 1000),
  })
}

function refreshedElsewhere(): AppError {
  return new AppError(
    'conflict',
    'Another process of the app has just refreshed this session: use the tokens that it stored.',
  )
}
