import type { Server } from 'bun'
import type { Context } from 'elysia'
import { AppError } from '../../../lib/errors.ts'
import type { Log } from '../../../lib/log/log.ts'
import { disableIdleTimeout } from '../body/connection-time.ts'
import { requestInfo } from '../request/request-log.ts'
import { failureBody, internalError } from './errors.ts'
import { rawReply } from './raw-reply.ts'

type ProgressRequest = { request: Request; server: unknown; set: Context['set']; log: Log }

const PROGRESS_INTERVAL_MS = 200

/** JSON lines: `{ progress }`, then `{ response }` or `{ failure }`. A client that disconnects aborts the operation. */
export function progressReply<Progress, Outcome>(
  { request, server, set, log }: ProgressRequest,
  work: (onProgress: (progress: Progress) => void, signal: AbortSignal) => Promise<Outcome>,
): Response {
  disableIdleTimeout(request, server as Server<unknown> | null)
  const stopped = new AbortController()
  const body = new ReadableStream<Uint8Array>({
    async start(controller) {
      const encoder = new TextEncoder()
      const send = (line: unknown) => {
        if (!stopped.signal.aborted) controller.enqueue(encoder.encode(`${JSON.stringify(line)}\n`))
      }
      let sentAt = 0
      const onProgress = (progress: Progress) => {
        const at = performance.now()
        if (at - sentAt < PROGRESS_INTERVAL_MS) return
        sentAt = at
        send({ progress })
      }
      try {
        send({ response: await work(onProgress, stopped.signal) })
      } catch (error) {
        const { id: requestId } = requestInfo(request)
        const isSafe = error instanceof AppError
        if (!isSafe) log.error({ requestId, err: error }, 'request failed')
        send({ failure: failureBody(isSafe ? error : internalError(), requestId) })
      }
      if (!stopped.signal.aborted) controller.close()
    },
    cancel: () => stopped.abort(),
  })
  return rawReply(set, body, { 'content-type': 'application/x-ndjson' })
}
