import { AppError, notFound } from '../../../../lib/errors.ts'
import { DAY_MS } from '../../../../lib/time/durations.ts'
import type { Device, Session } from '../../../models.ts'
import { notSignedIn } from '../../failure.ts'
import { decodeName, type FakeRequest } from '../../requests.ts'
import type { State, User } from '../../state.ts'

/** A chain of refresh tokens. `firstUsedAt`: the time of each generation's first use. */
type StoredSession = {
  id: string
  userId: string
  device: string
  createdAt: number
  lastUsedAt: number
  firstUsedAt: (number | null)[]
  repeatedGeneration: number | null
}

const ACCESS_SECONDS = 900
const IDLE_MS = 60 * DAY_MS
const MAX_MS = 365 * DAY_MS
const MAX_SESSIONS = 20
/** How long a used refresh token is accepted again after its successor was first used. */
const RETRY_WINDOW_MS = 60_000
/** The longest overlap of requests by two processes that share a session. */
const OVERLAP_MS = 5_000

export type Sessions = ReturnType<typeof createSessions>

/** Sessions that expire, rotate their refresh tokens and detect stolen ones as the real server does. */
export function createSessions({ users, find, clock, newId, mails, toProfile }: State) {
  const sessions = new Map<string, StoredSession>()
  const endListeners: ((session: StoredSession) => void)[] = []
  return {
    open,
    check,
    refresh,
    list,
    end,
    endOne,
    endAll,
    openedAt: (id: string) => sessions.get(id)?.createdAt ?? 0,
    onEnd: (listener: (session: StoredSession) => void) => void endListeners.push(listener),
  }

  function open(user: User, { headers }: Pick<FakeRequest, 'headers'>): Session {
    const own = [...sessions.values()].filter(({ userId }) => userId === user.id)
    if (own.length >= MAX_SESSIONS && own[0]) end(own[0].id)
    const device = decodeName(headers['device'] ?? '') || 'ios'
    if (user.devices.size > 0 && !user.devices.has(device) && user.email !== null)
      mails.push({ to: user.email, kind: 'new-device' })
    user.devices.add(device)
    const id = newId()
    const times = { createdAt: clock.now, lastUsedAt: clock.now }
    const use = { firstUsedAt: [null], repeatedGeneration: null }
    sessions.set(id, { id, userId: user.id, device, ...times, ...use })
    return toReply(id, 0)
  }

  /** The user and session of an access token. Throws `token_expired`, `unauthenticated`. */
  function check(token: string): { userId: string; sessionId: string } {
    const { kind, id, generation, expiresAt } = parse(token)
    const session = sessions.get(id)
    if (kind !== 'access' || generation >= (session?.firstUsedAt.length ?? 0)) throw notSignedIn()
    if (expiresAt <= clock.now) throw tokenExpired()
    if (!session || isTooOld(session)) throw notSignedIn()
    markUsed(session, generation)
    return { userId: session.userId, sessionId: id }
  }

  /** A guest cannot sign in again, so each refresh extends a guest's session. */
  function isTooOld({ userId, createdAt, lastUsedAt }: StoredSession): boolean {
    const isGuest = users.get(userId)?.loginType === 'guest'
    return (isGuest ? lastUsedAt : createdAt) + MAX_MS <= clock.now
  }

  function refresh({ refreshToken }: { refreshToken: string }): Session {
    const { kind, id, generation } = parse(refreshToken)
    const session = sessions.get(id)
    const { now } = clock
    if (!session || kind !== 'refresh' || generation >= session.firstUsedAt.length)
      throw notSignedIn()
    if (isTooOld(session) || session.lastUsedAt + IDLE_MS <= now) {
      end(id)
      throw notSignedIn()
    }
    if (generation === session.firstUsedAt.length - 1) {
      markUsed(session, generation)
      session.firstUsedAt.push(null)
      return toReply(id, generation + 1)
    }
    const usedAt = session.firstUsedAt[generation + 1] ?? null
    if (usedAt !== null) checkRepetition(session, generation, now - usedAt)
    return toReply(id, generation + 1)
  }

  /** Ends the session if a token is used again too late, or for the second time in a row. */
  function checkRepetition(session: StoredSession, generation: number, age: number) {
    const isSecondInRow = session.repeatedGeneration === generation - 1
    if (isSecondInRow && age <= OVERLAP_MS) {
      const message =
        'Another process of the app has just refreshed this session: use the tokens that it stored.'
      throw new AppError('conflict', message)
    }
    if (isSecondInRow || age > RETRY_WINDOW_MS) {
      end(session.id)
      const { email } = find(session.userId)
      if (email !== null) mails.push({ to: email, kind: 'token-reused' })
      throw notSignedIn()
    }
    session.repeatedGeneration = generation
  }

  function markUsed(session: StoredSession, generation: number) {
    if (session.firstUsedAt[generation] !== null) return
    session.firstUsedAt[generation] = clock.now
    session.lastUsedAt = clock.now
  }

  function toReply(id: string, generation: number): Session {
    const { userId } = sessions.get(id) as StoredSession
    return {
      accessToken: `fake-access.${id}.${generation}.${clock.now + ACCESS_SECONDS * 1000}`,
      refreshToken: `fake-refresh.${id}.${generation}`,
      tokenType: 'Bearer',
      expiresIn: ACCESS_SECONDS,
      user: toProfile(find(userId)),
    }
  }

  /** Most recently used first. */
  function list(userId: string, currentId: string): Device[] {
    return [...sessions.values()]
      .filter((session) => session.userId === userId)
      .reverse()
      .sort((a, b) => b.lastUsedAt - a.lastUsedAt)
      .map(({ id, device, createdAt, lastUsedAt }) => ({
        _id: id,
        device,
        createdAt: new Date(createdAt).toISOString(),
        lastUsedAt: new Date(lastUsedAt).toISOString(),
        current: id === currentId,
      }))
  }

  function endOne(userId: string, id: string) {
    if (sessions.get(id)?.userId !== userId) throw notFound()
    end(id)
  }

  /** Ends the sessions of a user except one; without a user, those of all users. */
  function endAll(userId: string | null, kept: string | null = null) {
    for (const { id, userId: owner } of sessions.values())
      if ((userId === null || owner === userId) && id !== kept) end(id)
  }

  function end(id: string) {
    const session = sessions.get(id)
    if (!session) return
    sessions.delete(id)
    if (users.has(session.userId)) for (const listener of endListeners) listener(session)
  }
}

function parse(token: unknown) {
  const [, kind = '', id = '', generation = '', expiresAt = ''] =
    /^fake-(\w+)\.([\w-]+)\.(\d+)(?:\.(\d+))?$/.exec(String(token)) ?? []
  return { kind, id, generation: Number(generation), expiresAt: Number(expiresAt) }
}

function tokenExpired(): AppError {
  const denial = { reason: 'expired' } as const
  return new AppError('token_expired', 'The access token has expired: refresh it.', { denial })
}
