import type { Timeline } from '../timeline.ts'
import { StripeApiError } from './errors.ts'

type Reply = { status: number; body: object }
export type IdempotentResponse = Reply & { isReplayed: boolean }
type Saved = { fingerprint: string; at: number; reply: Reply | null }

const RETENTION = 86_400

/** Replies by idempotency key: a retry gets the first reply again. */
export function createIdempotency(timeline: Timeline) {
  const saved = new Map<string, Saved>()
  return { run }

  /** `fingerprint`: the whole request. */
  async function run(
    key: string,
    fingerprint: string,
    execute: () => Promise<Reply>,
  ): Promise<IdempotentResponse> {
    const found = saved.get(key)
    if (found && timeline.now() - found.at < RETENTION)
      return { ...replay(found), isReplayed: true }
    const entry: Saved = { fingerprint, at: timeline.now(), reply: null }
    saved.set(key, entry)
    try {
      entry.reply = await execute()
      return { ...entry.reply, isReplayed: false }
    } catch (error) {
      if (error instanceof StripeApiError && error.isSaved) entry.reply = error
      else saved.delete(key)
      throw error
    }

    function replay({ fingerprint: first, reply }: Saved): Reply {
      if (first !== fingerprint) {
        throw new StripeApiError({
          type: 'idempotency_error',
          message: `Keys for idempotent requests can only be used with the same parameters they were first used with. Try using a key other than '${key}' if you meant to execute a different request.`,
        })
      }
      if (reply !== null) return reply
      throw new StripeApiError({
        status: 409,
        type: 'idempotency_error',
        code: 'idempotency_key_in_use',
        message: `There is currently another in-progress request using this Idempotent Key (that probably means you submitted twice, and the other request is still going through): ${key}.`,
      })
    }
  }
}
