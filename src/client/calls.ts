import type { Call, Caller, Envelope } from './caller.ts'
import type { RunCall } from './deadline.ts'
import type { InputPlace, Method, PathOf, ReplyOf, RouteFunction } from './routes.ts'
import type { SessionKeeper } from './session.ts'
import { isTokenRefused, userChanged } from './session-replies.ts'
import type { CallOptions } from './shared-types.ts'

type CallsDeps = {
  call: Caller
  session: Pick<SessionKeeper, 'readFresh' | 'renew'>
  runCall: RunCall
}

/** A check for a required update must not wait for a refresh that fails. */
const MAX_REFRESH_WAIT_MS = 3_000

export type Calls = ReturnType<typeof createCalls>

/** Creates functions whose types follow the server's routes. */
export function createCalls({ call, session, runCall }: CallsDeps) {
  return {
    asUser: callWith((sendRequest) => withToken(sendRequest)),
    asUserIfAny: callWith(withTokenIfAny),
    withoutToken: callWith((sendRequest) => sendRequest(null)),
    perform,
    withToken,
  }

  /** Creates functions for routes. `send` adds a request's token. `place`: where a route's input goes, if it has any. */
  function callWith(send: <T>(sendRequest: (token: string | null) => Promise<T>) => Promise<T>) {
    return <M extends Method, P extends string>(
      method: M,
      path: P & PathOf<M, P>,
      ...place: InputPlace<M, P>
    ): RouteFunction<M, P> =>
      (...args) =>
        perform(args, place, async (content) =>
          unwrap<M, P>(await send((token) => call(method, path, token, content))),
        )
  }

  /** Runs one call. `args` are its input, if the route takes any (`place`), and its options. */
  async function perform<T>(
    args: unknown[],
    [place]: ('json' | 'query')[],
    work: (content: Call) => Promise<T>,
  ): Promise<T> {
    const [input, options] = place ? args : [undefined, ...args]
    if (place === 'json' && (typeof input !== 'object' || input === null)) {
      throw new TypeError('The first argument must be an object that contains the input.')
    }
    return runCall(options as CallOptions | undefined, (deadline) =>
      work({ ...(place ? { [place]: withTrimmedAddress(input) } : {}), deadline }),
    )
  }

  /**
   * Retries once with a new token: the first may have expired, or an intermediary may have removed it. The session has
   * ended only if it cannot be refreshed. Throws `conflict` if another user than `userId` is signed in.
   */
  async function withToken<T>(
    sendRequest: (token: string) => Promise<T>,
    userId?: string,
  ): Promise<T> {
    const kept = await session.readFresh()
    if (userId !== undefined && kept.userId !== userId) throw userChanged()
    try {
      return await sendRequest(kept.accessToken)
    } catch (error) {
      // An intermediary's refusal must not make the client send a request twice.
      if (!isTokenRefused(error)) throw error
      const next = await session.renew(kept).catch((failure) => {
        // Another user has since signed in: the server refused the previous user's request.
        throw failure.code === 'conflict' ? error : failure
      })
      return sendRequest(next.accessToken)
    }
  }

  /** Sends a token if there is a valid one, and waits only briefly for a new one. */
  async function withTokenIfAny<T>(sendRequest: (token: string | null) => Promise<T>) {
    const wait = { timeout: MAX_REFRESH_WAIT_MS }
    const kept = await runCall(wait, () => session.readFresh()).catch(() => null)
    return sendRequest(kept?.accessToken ?? null)
  }
}

/** Keyboards and clipboards put spaces and invisible characters around an address. */
function withTrimmedAddress(input: unknown) {
  const { email } = (input ?? {}) as { email?: unknown }
  if (typeof email !== 'string') return input
  const [trimmed = ''] = /[^\s\p{Cf}](.*[^\s\p{Cf}])?/su.exec(email) ?? []
  return { ...(input as object), email: trimmed }
}

/** Returns the data of a response, or its message if it has no data. */
export function unwrap<M extends Method, P extends string>(reply: Envelope): ReplyOf<M, P> {
  const { code: _code, response, ...message } = reply
  return (response === undefined ? message : response) as ReplyOf<M, P>
}
