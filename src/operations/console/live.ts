import type { Server } from 'bun'
import type { Context } from 'elysia'
import type { LiveLines } from '../../lib/log/live-lines.ts'
import { disableIdleTimeout } from '../../platform/http/body/connection-time.ts'
import { rawReply } from '../../platform/http/replies/raw-reply.ts'

type LiveRequest = {
  request: Request
  server: Server<unknown> | null
  set: Context['set']
  isAllowed: () => Promise<boolean>
}

/** How often lines are sent. Comments fill longer gaps, because proxies close silent connections. */
const SEND_INTERVAL_MS = 250
const COMMENT_INTERVAL_MS = 5_000
/** How long a disconnected reader waits before it reconnects. */
const RETRY_MS = 1_000
const MAX_LINES_WAITING = 1_000

/** Ends when the reader disconnects or its session ends, or when the server stops. */
export function followSession(lines: LiveLines, options: LiveRequest): Response {
  const follow = (_read: unknown, onClose: () => void) => lines.follow(() => {}, onClose)
  return followLines({ last: () => [], follow }, options)
}

/** Sends the last lines and every new line as server-sent events, until the reader disconnects or its session ends. */
export function followLines(
  lines: Pick<LiveLines, 'last' | 'follow'>,
  options: LiveRequest,
): Response {
  const { request, server, set, isAllowed } = options
  disableIdleTimeout(request, server)
  let end = () => {}
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      const encoder = new TextEncoder()
      controller.enqueue(encoder.encode(`retry: ${RETRY_MS}\n\n`))
      let waiting = lines.last()
      let sentAt = 0
      const close = () => {
        end()
        controller.close()
      }
      const flush = () => {
        const text = waiting.map((line) => `data: ${line.trim()}\n\n`).join('')
        waiting = []
        sentAt = performance.now()
        controller.enqueue(encoder.encode(text || ':\n\n'))
      }
      const unfollow = lines.follow(
        (line) => {
          if (waiting.length < MAX_LINES_WAITING) waiting.push(line)
        },
        () => {
          flush()
          close()
        },
      )
      const send = async () => {
        if (!(await isAllowed().catch(() => false))) return close()
        const isDue = performance.now() - sentAt > COMMENT_INTERVAL_MS
        if (waiting.length > 0 || isDue) flush()
      }
      let sending = Promise.resolve()
      const timer = setInterval(() => {
        sending = sending.then(send).catch(() => end())
      }, SEND_INTERVAL_MS)
      end = () => {
        clearInterval(timer)
        unfollow()
      }
    },
    cancel: () => end(),
  })
  return rawReply(set, body, { 'content-type': 'text/event-stream' })
}
