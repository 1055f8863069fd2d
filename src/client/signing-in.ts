import type { CallOptions } from './api.ts'
import type { Caller, Envelope } from './caller.ts'
import type { Patience } from './patience.ts'
import type { Session, UserProfile } from './person-types.ts'
import {
  alreadySignedIn,
  isSessionEnded,
  type SessionKeeper,
  sessionEnded,
  sessionIn,
  tokenLost,
} from './session.ts'

type SigningInDeps = {
  call: Caller
  session: SessionKeeper
  withToken: <T>(ask: (token: string) => Promise<T>) => Promise<T>
  patiently: <T>(
    options: CallOptions | undefined,
    work: (patience: Patience) => Promise<T>,
  ) => Promise<T>
  /** Starts one guest at a time over all tabs that share the storage. */
  exclusively: (work: () => Promise<Session>) => Promise<Session>
  now: () => number
}

/** Every way to get a session; a guest keeps what is theirs. */
export function createSigningIn(deps: SigningInDeps) {
  const { call, session, withToken, patiently, exclusively, now } = deps
  let starting: Promise<Session> | null = null
  return { signingIn, signingUp, startAsGuest }

  function startAsGuest(options?: CallOptions): Promise<Session> {
    return patiently(options, () => {
      starting ??= exclusively(startGuest).finally(() => {
        starting = null
      })
      return starting
    })
  }

  function signingIn<T>(path: string) {
    return async (json: unknown, options?: CallOptions): Promise<T> =>
      patiently(checkInput(json, options), async (patience) =>
        keepSession<T>(await call('post', path, null, { json, patience })),
      )
  }

  /**
   * A guest who signs up or in keeps what is theirs: the guest's token goes with it. It is tried first, since
   * whoever takes it off on the way would make this a new account. `asGuestOnly`: without that of other users. `keepsGuest`:
   * the guest's id stays, so another one means that the token was taken off on the way.
   */
  function signingUp<T>(path: string, { asGuestOnly = false, keepsGuest = false } = {}) {
    return async (json: unknown, options?: CallOptions): Promise<T> =>
      patiently(checkInput(json, options), async (patience) => {
        const tried = async (token: string) => {
          const { response } = await call('get', '/api/user/profile/v1', token, { patience })
          return { token, user: response as UserProfile }
        }
        const kept = await session.read()
        const isSent = kept !== null && !(asGuestOnly && kept.isGuest === false)
        const sender = isSent ? await withToken(tried).catch(sayIfEnded) : null
        const envelope = await call('post', path, sender?.token ?? null, { json, patience })
        const guest = keepsGuest && sender?.user.loginType === 'guest' ? sender.user : null
        return keepSession<T>(envelope, guest)
      })
  }

  async function sayIfEnded(error: unknown): Promise<never> {
    const hasEnded = isSessionEnded(error) && (await session.read()) === null
    throw hasEnded ? sessionEnded(error) : error
  }

  /** For all who wait. The guest who is there stays; a user who is signed in is not replaced. */
  function startGuest(): Promise<Session> {
    return patiently({}, async (patience) => {
      const kept = await session.read()
      if (kept === null) {
        return keepSession<Session>(await call('post', '/api/auth/guest/v1', null, { patience }))
      }
      const { response } = await withToken((token) =>
        call('get', '/api/user/profile/v1', token, { patience }),
      )
      const user = response as UserProfile
      if (user.loginType !== 'guest') throw alreadySignedIn()
      const { accessToken, refreshToken, expiresAt } = await session.readFresh()
      const expiresIn = Math.floor((expiresAt - now()) / 1000)
      return { accessToken, refreshToken, tokenType: 'Bearer', expiresIn, user }
    })
  }

  /** Of signing in, where a challenge is no session yet. `guest`: whose account it must be. */
  async function keepSession<T>(envelope: Envelope, guest: UserProfile | null = null): Promise<T> {
    const result = sessionIn(envelope)
    if ('refreshToken' in result) {
      if (guest && guest._id !== result.user._id) throw tokenLost()
      await session.keep(result, 'signed_in')
    }
    return result as T
  }
}

/** Throws a TypeError at who gives nothing. Returns the options. */
export function checkInput(json: unknown, options?: CallOptions): CallOptions | undefined {
  if (typeof json === 'object' && json !== null) return options
  throw new TypeError('The first argument must be an object with what the call takes.')
}
