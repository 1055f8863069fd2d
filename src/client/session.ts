import { ApiError } from './api-error.ts'
import type { Envelope } from './caller.ts'
import { pause } from './patience.ts'
import { createSlot, type Storage } from './storage.ts'
import type { AuthChangeReason, SessionState } from './tabs.ts'
import type { Session, SignInResult } from './users.ts'

type SessionDeps = {
  storage: Storage
  /** The tokens of one server are not for another one that shares the storage. */
  baseUrl: string
  /** Does one thing at a time over all tabs that share the storage. */
  exclusively: <T>(work: () => Promise<T>) => Promise<T>
  /** Exchanges a refresh token for the next session. Throws an ApiError. */
  exchangeRefreshToken: (refreshToken: string) => Promise<Session>
  /** Called once the storage holds what has changed. */
  onChange: (state: SessionState) => void
  now: () => number
}

/** `userId`, `isGuest` and `baseUrl` are missing in what earlier versions kept. */
type Kept = {
  accessToken: string
  refreshToken: string
  expiresAt: number
  userId?: string
  isGuest?: boolean
  baseUrl?: string
}

const KEY = 'homeport.session'
/** An access token is replaced so long before it expires, in ms. */
const MARGIN = 30_000
/**
 * A refresh whose reply was lost is tried again after so many ms: the server gives the same answer. Together
 * they outlast the 5 s in which it takes a second use of a token for another process.
 */
const RETRIES = [500, 2_000, 3_000]

export type SessionKeeper = ReturnType<typeof createSessionKeeper>

/** Keeps the tokens of a session, and refreshes them once for all who wait. */
export function createSessionKeeper(deps: SessionDeps) {
  const { baseUrl, exclusively, exchangeRefreshToken, onChange, now } = deps
  const slot = createSlot(deps.storage, KEY)
  let refreshing: Promise<Kept> | null = null
  let ending = Promise.resolve()
  return { keep, read, readFresh, renew, forget }

  async function keep(
    { accessToken, refreshToken, expiresIn, user }: Session,
    reason: AuthChangeReason,
  ): Promise<Kept> {
    const expiresAt = now() + expiresIn * 1000
    const isGuest = user.loginType === 'guest'
    const kept = { accessToken, refreshToken, expiresAt, userId: user._id, isGuest, baseUrl }
    await slot.write(JSON.stringify(kept))
    onChange({ reason, expiresAt })
    return kept
  }

  /** What is kept; null when nobody is signed in. */
  async function read(): Promise<Kept | null> {
    const { isOurs, kept } = await open()
    return isOurs && typeof kept?.refreshToken === 'string' ? kept : null
  }

  async function open() {
    const text = await slot.read()
    try {
      const kept = JSON.parse(text ?? 'null')
      return { isOurs: (kept?.baseUrl ?? baseUrl) === baseUrl, kept }
    } catch {
      // Damaged: nobody is signed in.
      return { isOurs: true, kept: null }
    }
  }

  /** A session whose access token has not expired by our clock. Throws `unauthenticated` without one. */
  async function readFresh(): Promise<Kept> {
    const kept = await read()
    if (kept === null) throw notSignedIn()
    return kept.expiresAt - MARGIN > now() ? kept : renew(kept.accessToken)
  }

  /** A session with an access token that is not `spent`; those who ask while it is fetched share it. */
  function renew(spent: string): Promise<Kept> {
    refreshing ??= exclusively(() => refresh(spent)).finally(() => {
      refreshing = null
    })
    return refreshing
  }

  async function forget(reason: AuthChangeReason) {
    const isSignedIn = (await read()) !== null
    if ((await open()).isOurs) await slot.clear()
    if (isSignedIn) onChange({ reason, expiresAt: null })
  }

  /**
   * The server has refused to refresh the session of a token. It is forgotten once, however many were told
   * so, and only while no other one has taken its place.
   */
  function end(refused: string): Promise<void> {
    ending = ending
      .catch(() => {})
      .then(async () => {
        if ((await read())?.accessToken === refused) await forget('session_ended')
      })
    return ending
  }

  async function refresh(spent: string): Promise<Kept> {
    for (const delay of [...RETRIES, null]) {
      const kept = await read()
      if (kept === null) throw notSignedIn()
      // Another tab, process or earlier caller was quicker.
      if (kept.accessToken !== spent) return kept
      try {
        return await exchange(kept)
      } catch (error) {
        if (isSessionEnded(error)) return await readOther(spent, error)
        if (delay === null || !isTransient(error)) throw error
        await pause(delay)
      }
    }
    throw notSignedIn()
  }

  async function exchange({ refreshToken, userId }: Kept): Promise<Kept> {
    const session = await exchangeRefreshToken(refreshToken)
    // Somebody may have signed out meanwhile, or in as somebody else.
    if ((await read())?.refreshToken === refreshToken) return keep(session, 'refreshed')
    return { ...session, expiresAt: 0, ...(userId === undefined ? {} : { userId }) }
  }

  /** What another process has kept since; without it the session has ended. */
  async function readOther(spent: string, refusal: unknown): Promise<Kept> {
    await end(spent)
    const kept = await read()
    if (kept === null) throw refusal
    return kept
  }
}

/** The session in a reply of signing in, or its challenge. Throws `reply_invalid` for anything else. */
export function sessionIn({ response }: Envelope): SignInResult {
  const { accessToken, refreshToken, expiresIn, user, challengeToken } = (response ?? {}) as Record<
    string,
    unknown
  >
  const isSession =
    typeof accessToken === 'string' &&
    typeof refreshToken === 'string' &&
    typeof expiresIn === 'number' &&
    typeof (user as Session['user'] | undefined)?._id === 'string'
  if (isSession || typeof challengeToken === 'string') return response as SignInResult
  const message = 'The server answered without a session.'
  throw new ApiError({ status: 200, code: 'reply_invalid', message })
}

/** The server says that there is no such session, and it is the server who says it. */
export function isSessionEnded(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'unauthenticated' && error.isGenuine
}

/** The access token is refused, and it is the server who says it. */
export function isTokenRefused(error: unknown): boolean {
  return (
    isSessionEnded(error) ||
    (error instanceof ApiError && error.isGenuine && error.code === 'token_expired')
  )
}

export function sessionEnded(cause: unknown): ApiError {
  const message =
    'The session on this device has ended, so the account cannot take over what it had. Try again to go on without it.'
  return new ApiError({ status: 401, code: 'session_ended', message, cause })
}

/** There was no answer, one that says to come again, or another process is refreshing the same session. */
function isTransient(error: unknown): boolean {
  return (
    error instanceof ApiError &&
    (/^(network_error|timeout|conflict)$/.test(error.code) || error.status >= 500)
  )
}

function notSignedIn(): ApiError {
  const message = 'Nobody is signed in.'
  return new ApiError({ status: 401, code: 'unauthenticated', message, isGenuine: true })
}

export function tokenLost(): ApiError {
  const message =
    'The account was made without what the guest has: something on the way removes the token.'
  return new ApiError({ status: 0, code: 'token_lost', message })
}

export function alreadySignedIn(): ApiError {
  const message = 'A user is signed in: sign out first.'
  return new ApiError({ status: 0, code: 'conflict', message })
}
