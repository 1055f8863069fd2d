import { parseJson } from '../lib/text/json.ts'
import { ApiError } from './api-error.ts'
import { sleep } from './deadline.ts'
import type { Session } from './models.ts'
import {
  alreadySignedInError,
  isSessionEnded,
  notSignedIn,
  userChanged,
} from './session-replies.ts'
import { createSlot, type Storage } from './storage.ts'
import type { AuthChangeReason, SessionState } from './tabs.ts'

type SessionDeps = {
  storage: Storage
  /** Separates the tokens of servers that share the storage. */
  baseUrl: string
  /** Runs one task at a time across all tabs that share the storage. */
  exclusively: <T>(work: () => Promise<T>) => Promise<T>
  /** Exchanges a refresh token for the next session. Throws an ApiError. */
  exchangeRefreshToken: (refreshToken: string) => Promise<Session>
  /** Resolves when the data of other users is removed. */
  onChange: (state: SessionState, previousUserId?: string) => Promise<void>
  now: () => number
}

/** Sessions kept by earlier versions lack `userId`, `isGuest` and `baseUrl`. */
export type StoredSession = {
  accessToken: string
  refreshToken: string
  expiresAt: number
  userId?: string
  isGuest?: boolean
  /** The guest who has signed in to this account. */
  guestId?: string | undefined
  baseUrl?: string
}

/** The stored session. `isOurs`: there is none, or it belongs to this `baseUrl`. */
type Slot = { isOurs: boolean; kept: StoredSession | null }

const KEY = 'homeport.session'
/** How long before its expiry an access token is replaced. */
const EXPIRY_MARGIN_MS = 30_000
/** The server repeats a lost response. The delays outlast the 5 s in which a second use may be another process's. */
const RETRY_DELAYS_MS = [500, 2_000, 3_000]

export type SessionKeeper = ReturnType<typeof createSessionKeeper>

/** Keeps the tokens of a session, and refreshes them once for all concurrent callers. */
export function createSessionKeeper(deps: SessionDeps) {
  const { baseUrl, exclusively, exchangeRefreshToken, onChange, now } = deps
  const slot = createSlot(deps.storage, KEY)
  let refreshing: Promise<StoredSession> | null = null
  let lastChange: Promise<unknown> = Promise.resolve()
  const signIns = new Set<Promise<unknown>>()
  /** The access token of a deletion that got no response; true once the server has refused that token. */
  const deletion = { token: null as string | true | null }
  return {
    deletion,
    keep,
    read,
    readFresh,
    renew,
    forget: (reason: AuthChangeReason) => serialize(() => clear(reason)),
    trackSignIn,
  }

  /** Runs one change to the stored session at a time: each depends on the last, and the storage may be slow. */
  function serialize<T>(change: () => Promise<T>): Promise<T> {
    const result = lastChange.then(change, change)
    lastChange = result
    return result
  }

  async function trackSignIn<T>(signIn: () => Promise<T>): Promise<T> {
    const running = signIn()
    signIns.add(running)
    return running.finally(() => signIns.delete(running))
  }

  /** With `isFirst`, throws `conflict` if a user has signed in since. */
  function keep(session: Session, isFirst: boolean): Promise<StoredSession> {
    return serialize(async () => {
      if (isFirst && (await read())) throw alreadySignedInError()
      deletion.token = null
      return store(session, 'signed_in')
    })
  }

  async function store(
    { accessToken, refreshToken, expiresIn, user }: Session,
    reason: AuthChangeReason,
  ): Promise<StoredSession> {
    const expiresAt = now() + expiresIn * 1000
    const userId = user._id
    const isGuest = user.loginType === 'guest'
    const before = await read().catch(() => null)
    const replacedId = before?.isGuest ? before.userId : undefined
    const guestId = before?.userId === userId ? before.guestId : replacedId
    const kept = { accessToken, refreshToken, expiresAt, userId, isGuest, guestId, baseUrl }
    await slot.write(JSON.stringify(kept))
    await onChange({ reason, expiresAt, userId })
    return kept
  }

  /** Returns the stored session; null if no user is signed in. */
  async function read(): Promise<StoredSession | null> {
    return toSession(await readSlot())
  }

  async function readSlot(): Promise<Slot> {
    // Null also if it is damaged: then no user is signed in.
    const kept = (parseJson(await slot.read()) ?? null) as StoredSession | null
    return { isOurs: (kept?.baseUrl ?? baseUrl) === baseUrl, kept }
  }

  /** Returns a session whose access token is valid by our clock. Throws `unauthenticated` if no user is signed in. */
  async function readFresh(): Promise<StoredSession> {
    const kept = await read()
    return kept && kept.expiresAt - EXPIRY_MARGIN_MS > now() ? kept : renew(kept)
  }

  /**
   * Refreshes the session, once for all callers. Throws `unauthenticated` if signed out, `conflict` for another user.
   */
  async function renew(kept: StoredSession | null): Promise<StoredSession> {
    if (kept === null) throw notSignedIn()
    const { accessToken, userId } = kept
    refreshing ??= exclusively(() => refresh(accessToken)).finally(() => {
      refreshing = null
    })
    const next = await refreshing
    if (userId !== undefined && next.userId !== userId) throw userChanged()
    return next
  }

  /** Also removes an unreadable session: an Android phone that has lost its key can never read it again. */
  async function clear(reason: AuthChangeReason) {
    const stored = await readSlot().catch(() => null)
    if (stored === null || stored.isOurs) await slot.clear()
    const previous = stored && toSession(stored)
    if (stored === null || previous)
      await onChange({ reason, expiresAt: null, userId: null }, previous?.userId)
  }

  /**
   * Ends the session once, unless another one has replaced it. Waits for sign-ins first: the server ends a guest's
   * session at sign-in, and the new session may soon arrive.
   */
  async function end(refused: string): Promise<void> {
    await Promise.allSettled(signIns)
    return serialize(async () => {
      if ((await read())?.accessToken !== refused) return
      if (refused === deletion.token) deletion.token = true
      await clear('session_ended')
    })
  }

  async function refresh(staleToken: string): Promise<StoredSession> {
    for (const delay of [...RETRY_DELAYS_MS, null]) {
      const kept = await read()
      if (kept === null) throw notSignedIn()
      // Another tab, another process or an earlier caller has already refreshed the session.
      if (kept.accessToken !== staleToken) return kept
      try {
        return await exchange(kept)
      } catch (error) {
        if (isSessionEnded(error)) return await readReplacement(staleToken, error)
        if (delay === null || !isTransient(error)) throw error
        await sleep(delay)
      }
    }
    throw notSignedIn()
  }

  async function exchange({ refreshToken, userId }: StoredSession): Promise<StoredSession> {
    const session = await exchangeRefreshToken(refreshToken)
    return serialize(async () => {
      // In the meantime the user may have signed out, or another user may have signed in.
      if ((await read())?.refreshToken === refreshToken) return store(session, 'refreshed')
      return { ...session, expiresAt: 0, ...(userId === undefined ? {} : { userId }) }
    })
  }

  /** Returns the session with which another process replaced this one; if none did, deletes it and throws `refusal`. */
  async function readReplacement(staleToken: string, refusal: unknown): Promise<StoredSession> {
    await end(staleToken)
    const kept = await read()
    if (kept === null) throw refusal
    return kept
  }
}

/** Whose token a request needs that began with this session; undefined if an earlier version did not store the user. */
export function senderId(session: StoredSession | null): string | undefined {
  return session === null ? '' : session.userId
}

function toSession({ isOurs, kept }: Slot): StoredSession | null {
  return isOurs && typeof kept?.refreshToken === 'string' ? kept : null
}

/** Whether a retry may help: no response, a server error, or a refresh by another process. */
function isTransient(error: unknown): boolean {
  return (
    error instanceof ApiError &&
    (/^(network_error|timeout|conflict)$/.test(error.code) || error.status >= 500)
  )
}
