import type { Server } from 'bun'
import type { Context } from 'elysia'
import { AppError } from '../../lib/errors.ts'
import type { Log } from '../../lib/log.ts'
import { waitWithoutLimit } from './connection-time.ts'
import { failureBody, internalError } from './errors.ts'
import { rawReply } from './raw-reply.ts'
import { requestInfo } from './request-id.ts'

type Asked = { request: Request; server: unknown; set: Context['set']; log: Log }

/** How often somebody who waits is told, in ms. */
const TELL_EVERY = 200

/**
 * Answers long work with lines of JSON: `{ progress }` while it goes on, and at last `{ response }` or `{ failure }`.
 * The work is aborted when nobody listens any more.
 */
export function progressReply<Progress, Outcome>(
  { request, server, set, log }: Asked,
  work: (tell: (progress: Progress) => void, signal: AbortSignal) => Promise<Outcome>,
): Response {
  waitWithoutLimit(request, server as Server<unknown> | null)
  const stopped = new AbortController()
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      const encoder = new TextEncoder()
      const say = (line: unknown) => {
        if (!stopped.signal.aborted) controller.enqueue(encoder.encode(`${JSON.stringify(line)}\n`))
      }
      let toldAt = 0
      const tell = (progress: Progress) => {
        const at = performance.now()
        if (at - toldAt < TELL_EVERY) return
        toldAt = at
        say({ progress })
      }
      try {
        say({ response: await work(tell, stopped.signal) })
      } catch (error) {
        const { id: requestId } = requestInfo(request)
        const isTold = error instanceof AppError
        if (!isTold) log.error({ requestId, err: error }, 'request failed')
        say({ failure: failureBody(isTold ? error : internalError(), requestId) })
      }
      if (!stopped.signal.aborted) controller.close()
    },
    cancel: () => stopped.abort(),
  })
  return rawReply(set, body, { 'content-type': 'application/x-ndjson' })
}
