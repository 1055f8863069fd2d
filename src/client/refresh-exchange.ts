import type { Caller } from './caller.ts'
import type { RunCall } from './deadline.ts'
import type { Session } from './models.ts'
import type { InputOf, ReplyOf } from './routes.ts'
import { readSession } from './session-replies.ts'

const REFRESH = '/api/auth/refresh/v1'

/** Shared by all callers: no caller's signal or timeout cancels it. */
export function createRefreshExchange(
  call: Caller,
  runCall: RunCall,
): (refreshToken: string) => Promise<Session> {
  return (refreshToken) =>
    runCall({}, async (deadline) => {
      const json: InputOf<'post', typeof REFRESH>[0] = { refreshToken }
      const envelope = await call('post', REFRESH, null, { json, deadline })
      return readSession(envelope) as ReplyOf<'post', typeof REFRESH>
    })
}
