import { ApiError } from './api-error.ts'
import type { Session } from './person-types.ts'
import type { Storage } from './storage.ts'

type SessionDeps = {
  storage: Storage
  /** Exchanges a refresh token for the next session. Throws an ApiError. */
  exchangeRefreshToken: (refreshToken: string) => Promise<Session>
  onSignedOut: () => void
  now: () => number
}

type Kept = { accessToken: string; refreshToken: string; expiresAt: number }

const KEY = 'homeport.session'
/** An access token is replaced so long before it expires, in ms. */
const MARGIN = 30_000
/** A refresh whose reply was lost is tried again after so many ms: the server gives the same answer. */
const RETRIES = [500, 2_000]

/** Keeps the tokens of a session, and refreshes them once for all who wait. */
export function createSessionKeeper(deps: SessionDeps) {
  const { storage, exchangeRefreshToken, onSignedOut, now } = deps
  let refreshing: Promise<string> | null = null
  let ending = Promise.resolve()
  return { keep, token, freshToken, renew, forget, end }

  async function keep({ accessToken, refreshToken, expiresIn }: Session) {
    const kept: Kept = { accessToken, refreshToken, expiresAt: now() + expiresIn * 1000 }
    await storage.setItem(KEY, JSON.stringify(kept))
  }

  /** The access token as it is kept, or null when nobody is signed in. */
  async function token(): Promise<string | null> {
    return (await read())?.accessToken ?? null
  }

  /** An access token that has not expired by our clock. Throws `unauthenticated` without a session. */
  async function freshToken(): Promise<string> {
    const kept = await read()
    if (kept === null) throw notSignedIn()
    return kept.expiresAt - MARGIN > now() ? kept.accessToken : renew(kept.accessToken)
  }

  /** A token that is not `spent`; those who ask while it is fetched share it. */
  function renew(spent: string): Promise<string> {
    refreshing ??= refresh(spent).finally(() => {
      refreshing = null
    })
    return refreshing
  }

  async function forget() {
    await storage.removeItem(KEY)
  }

  /**
   * The server has ended the session of a token. It is forgotten once, however many were told so, and
   * only while no other one has taken its place.
   */
  function end(refused: string): Promise<void> {
    ending = ending.then(async () => {
      if ((await token()) !== refused) return
      await forget()
      onSignedOut()
    })
    return ending
  }

  async function refresh(spent: string): Promise<string> {
    const kept = await read()
    if (kept === null) throw notSignedIn()
    // Another tab or an earlier caller was quicker.
    if (kept.accessToken !== spent) return kept.accessToken
    try {
      const session = await exchangeWithRetries(kept.refreshToken)
      // Somebody may have signed out meanwhile, or in as somebody else.
      if ((await read())?.refreshToken === kept.refreshToken) await keep(session)
      return session.accessToken
    } catch (error) {
      if (isSessionEnded(error)) await end(spent)
      throw error
    }
  }

  async function exchangeWithRetries(refreshToken: string): Promise<Session> {
    for (const delay of RETRIES) {
      try {
        return await exchangeRefreshToken(refreshToken)
      } catch (error) {
        if (!isTransient(error)) throw error
      }
      await new Promise((resolve) => setTimeout(resolve, delay))
    }
    return exchangeRefreshToken(refreshToken)
  }

  async function read(): Promise<Kept | null> {
    const text = await storage.getItem(KEY)
    try {
      return text === null ? null : JSON.parse(text)
    } catch {
      // Not ours, or damaged: nobody is signed in.
      return null
    }
  }
}

/** The server says that there is no such session, and it is the server who says it. */
export function isSessionEnded(error: unknown): boolean {
  return error instanceof ApiError && error.code === 'unauthenticated' && error.isGenuine
}

/** There was no answer, or one that says to come again. */
function isTransient(error: unknown): boolean {
  return (
    error instanceof ApiError &&
    (/^(network_error|timeout)$/.test(error.code) || error.status >= 500)
  )
}

function notSignedIn(): ApiError {
  const message = 'Nobody is signed in.'
  return new ApiError({ status: 401, code: 'unauthenticated', message, isGenuine: true })
}
