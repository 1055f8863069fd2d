import type { Server } from 'bun'
import type { Context } from 'elysia'
import type { LiveLines } from '../../lib/live-lines.ts'
import { waitWithoutLimit } from '../../platform/http/connection-time.ts'
import { rawReply } from '../../platform/http/raw-reply.ts'

type Asked = {
  request: Request
  server: Server<unknown> | null
  set: Context['set']
  /** Whether whoever reads may go on. */
  isAllowed: () => Promise<boolean>
}

/** How often lines are sent, and a comment where there are none, for proxies close what is silent, in ms. */
const SEND_EVERY = 250
const COMMENT_EVERY = 5_000
/** When a reader who was cut off comes back, in ms. */
const RETRY = 1_000
/** Lines that wait to be sent; beyond it they are dropped. */
const MOST_WAITING = 1_000

/** Sends the lines that are kept and every line to come, as server-sent events, until the reader goes or must go. */
export function followLines(lines: LiveLines, asked: Asked): Response {
  const { request, server, set, isAllowed } = asked
  waitWithoutLimit(request, server)
  let end = () => {}
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      const encoder = new TextEncoder()
      controller.enqueue(encoder.encode(`retry: ${RETRY}\n\n`))
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
          if (waiting.length < MOST_WAITING) waiting.push(line)
        },
        () => {
          flush()
          close()
        },
      )
      const send = async () => {
        const isDue = performance.now() - sentAt > COMMENT_EVERY
        if (waiting.length === 0 && !isDue) return
        if (!(await isAllowed().catch(() => false))) return close()
        flush()
      }
      let sending = Promise.resolve()
      const timer = setInterval(() => {
        sending = sending.then(send).catch(() => end())
      }, SEND_EVERY)
      end = () => {
        clearInterval(timer)
        unfollow()
      }
    },
    cancel: () => end(),
  })
  return rawReply(set, body, { 'content-type': 'text/event-stream' })
}
