import type { ApiError } from './api-error.ts'
import type { Call, Caller, Envelope } from './caller.ts'
import { type Calls, unwrap } from './calls.ts'
import type { Deadline, RunCall } from './deadline.ts'
import type { Session, UserProfile } from './models.ts'
import type { PathOf, ReplyOf, RouteFunction } from './routes.ts'
import { type SessionKeeper, type StoredSession, senderId } from './session.ts'
import {
  alreadySignedInError,
  isSessionEnded,
  isTokenRefused,
  readSession,
  sessionEnded,
  tokenLostError,
} from './session-replies.ts'
import type { CallOptions } from './shared-types.ts'

type AuthDeps = {
  call: Caller
  calls: Calls
  session: SessionKeeper
  runCall: RunCall
  exchangeRefreshToken: (refreshToken: string) => Promise<Session>
  /** Starts one guest at a time across all tabs that share the storage. */
  exclusively: (work: () => Promise<Session>) => Promise<Session>
  now: () => number
}

/** How a sign-in treats the current guest. */
export type GuestOptions = { sendsToken?: boolean; guestsOnly?: boolean; keepsGuestId?: boolean }

const PROFILE = '/api/user/profile/v1'
const LOGOUT = '/api/auth/logout/v1'
const DELETED = { message: 'The account has been deleted.' }

/** Signs users in and out; a guest who signs in keeps their data. */
export function createAuth(deps: AuthDeps) {
  const { call, calls, session, runCall, exchangeRefreshToken, exclusively, now } = deps
  const { perform, withToken } = calls
  let starting: Promise<Session> | null = null
  return { signInAt, startAsGuest, endSession, deleteProfile }

  function startAsGuest(options?: CallOptions): Promise<ReplyOf<'post', '/api/auth/guest/v1'>> {
    return runCall(options, () => {
      starting ??= exclusively(startGuest).finally(() => {
        starting = null
      })
      return starting
    })
  }

  /**
   * Sends the guest's token, so that the guest's data moves to the account, unless `sendsToken` is false. Tests the
   * token first: if an intermediary removed it, the server would create a new account. `guestsOnly`: sends no signed-in
   * user's token. `keepsGuestId`: a session with another id means that an intermediary removed the token.
   */
  function signInAt<P extends string>(
    path: P & PathOf<'post', P>,
    { sendsToken = true, guestsOnly = false, keepsGuestId = false }: GuestOptions = {},
  ): RouteFunction<'post', P> {
    return (...args) =>
      perform(args, ['json'], async (content) => {
        const sender = sendsToken ? await findSender(content, guestsOnly) : null
        const guest = keepsGuestId && sender?.user.loginType === 'guest' ? sender.user : null
        return session.trackSignIn(async () =>
          keepSession<P>(await call('post', path, sender?.token ?? null, content), guest),
        )
      })
  }

  /** The user on this device, with a valid token; null if no token should be sent. */
  async function findSender({ deadline }: Call, guestsOnly: boolean) {
    const kept = await session.read()
    if (kept === null || (guestsOnly && kept.isGuest === false)) return null
    const readUser = async (token: string) => {
      const { response } = await call('get', PROFILE, token, { deadline })
      return { token, user: response as UserProfile }
    }
    return withToken(readUser).catch(rethrowSessionError)
  }

  async function rethrowSessionError(error: unknown): Promise<never> {
    const hasEnded = isSessionEnded(error) && (await session.read()) === null
    throw hasEnded ? sessionEnded(error) : error
  }

  /** Shared by all callers. Keeps an existing guest whose session has not ended, and never replaces a signed-in user. */
  function startGuest(): Promise<Session> {
    return runCall({}, async (deadline) => {
      const kept = await session.read()
      if (kept === null) return createGuest(deadline)
      const reading = withToken((token) => call('get', PROFILE, token, { deadline }))
      const reply = await reading.catch(async (error) => {
        if (kept.isGuest && isSessionEnded(error) && !(await session.read())) return null
        throw error
      })
      if (reply === null) return createGuest(deadline)
      const user = reply.response as UserProfile
      if (user.loginType !== 'guest') throw alreadySignedInError()
      const { accessToken, refreshToken, expiresAt } = await session.readFresh()
      const expiresIn = Math.floor((expiresAt - now()) / 1000)
      return { accessToken, refreshToken, tokenType: 'Bearer', expiresIn, user }
    })
  }

  async function createGuest(deadline: Deadline): Promise<Session> {
    const envelope = await call('post', '/api/auth/guest/v1', null, { deadline })
    return keepSession<'/api/auth/guest/v1'>(envelope, null, true)
  }

  /** `guest`: the user that the session must belong to. */
  async function keepSession<P extends string>(
    envelope: Envelope,
    guest: UserProfile | null = null,
    isFirst = false,
  ) {
    const result = readSession(envelope)
    if ('refreshToken' in result) {
      if (guest && guest._id !== result.user._id) throw tokenLostError()
      await session.keep(result, isFirst)
    }
    return result as ReplyOf<'post', P>
  }

  /** Ends a session that this device has already deleted. Returns null if the outcome is unknown. */
  async function endSession(
    kept: Pick<Session, 'accessToken' | 'refreshToken'>,
    options?: CallOptions,
  ) {
    try {
      const envelope = await runCall(options, (deadline) => {
        const sendRequest = (token: string) => call('post', LOGOUT, token, { deadline })
        return sendRequest(kept.accessToken).catch(async (error) => {
          if (!isTokenRefused(error)) throw error
          return sendRequest((await exchangeRefreshToken(kept.refreshToken)).accessToken)
        })
      })
      return unwrap<'post', typeof LOGOUT>(envelope)
    } catch (error) {
      if ((error as ApiError).code === 'aborted') throw error
      return null
    }
  }

  /**
   * If the response is lost and the server then refuses the session, the account was deleted, unless the session was
   * refreshed in between. `before`: the session of the user who is to be deleted.
   */
  async function deleteProfile(
    before: StoredSession | null,
    options?: CallOptions,
  ): Promise<ReplyOf<'delete', typeof PROFILE>> {
    const { deletion } = session
    const earlier = deletion.token
    if (before === null && earlier === true) return DELETED
    try {
      const envelope = await runCall(options, (deadline) =>
        withToken((token) => {
          deletion.token = token
          return call('delete', PROFILE, token, { deadline }).catch((error) => {
            // A proxy answers 502 or 504 without knowing whether the server handled the request.
            if (![0, 502, 504].includes(error.status)) deletion.token = earlier
            throw error
          })
        }, senderId(before)),
      )
      if ((await session.read())?.userId === before?.userId) await session.forget('account_deleted')
      return unwrap<'delete', typeof PROFILE>(envelope)
    } catch (error) {
      if (before?.accessToken === earlier && isSessionEnded(error)) return DELETED
      throw error
    }
  }
}
