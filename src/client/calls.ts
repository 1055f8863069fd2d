import type { Call, Caller, Envelope } from './caller.ts'
import type { RunCall } from './deadline.ts'
import type { InputPlace, Method, PathOf, ReplyOf, RouteFunction } from './routes.ts'
import { isTokenRefused, type SessionKeeper } from './session.ts'
import type { CallOptions } from './shared-types.ts'

type CallsDeps = {
  call: Caller
  session: Pick<SessionKeeper, 'readFresh' | 'renew'>
  runCall: RunCall
}

export type Calls = ReturnType<typeof createCalls>

/** Makes the functions of routes, with the server's types. */
export function createCalls({ call, session, runCall }: CallsDeps) {
  return { asUser, withoutToken, perform, withToken }

  /** The function of a route for signed-in users. `place`: where the input goes, if the route takes any. */
  function asUser<M extends Method, P extends string>(
    method: M,
    path: P & PathOf<M, P>,
    ...place: InputPlace<M, P>
  ): RouteFunction<M, P> {
    return (...args) =>
      perform(args, place, async (content) =>
        dataOf<M, P>(await withToken((token) => call(method, path, token, content))),
      )
  }

  function withoutToken<M extends Method, P extends string>(
    method: M,
    path: P & PathOf<M, P>,
    ...place: InputPlace<M, P>
  ): RouteFunction<M, P> {
    return (...args) =>
      perform(args, place, async (content) => dataOf<M, P>(await call(method, path, null, content)))
  }

  /** Runs the client function that was called with `args`: its input, if it has a `place`, and its options. */
  async function perform<T>(
    args: unknown[],
    [place]: ('json' | 'query')[],
    work: (content: Call) => Promise<T>,
  ): Promise<T> {
    const [input, options] = place ? args : [undefined, ...args]
    if (place === 'json' && (typeof input !== 'object' || input === null)) {
      throw new TypeError('The first argument must be an object with the input of the call.')
    }
    return runCall(options as CallOptions | undefined, (deadline) =>
      work({ ...(place ? { [place]: input } : {}), deadline }),
    )
  }

  /**
   * Asks with an access token, and once more with a new one if it is refused: it may have expired, or an
   * intermediary may have removed it. The session has ended only if it cannot be refreshed.
   */
  async function withToken<T>(ask: (token: string) => Promise<T>): Promise<T> {
    const { accessToken, userId } = await session.readFresh()
    try {
      return await ask(accessToken)
    } catch (error) {
      // An intermediary's refusal must not make the client send a request twice.
      if (!isTokenRefused(error)) throw error
      const next = await session.renew(accessToken)
      // Another user may have signed in meanwhile: the request was not theirs.
      if (next.userId !== userId) throw error
      return ask(next.accessToken)
    }
  }
}

/** The data of a reply, or its message if it has none. */
export function dataOf<M extends Method, P extends string>(reply: Envelope): ReplyOf<M, P> {
  const { response, message } = reply
  return (response === undefined ? { message } : response) as ReplyOf<M, P>
}
