import type { Server } from 'bun'
import type { Context } from 'elysia'
import type { LiveLines } from '../../lib/live-lines.ts'

type Asked = { request: Request; server: Server<unknown> | null; set: Context['set'] }

/** Proxies close what is silent for longer, in ms. */
const COMMENT_EVERY = 15_000
/** Lines that wait for a slow reader; beyond it they are dropped. */
const MOST_WAITING = 1_000

/** Sends the lines that are kept and every line to come, as server-sent events, until the reader goes. */
export function followLines(lines: LiveLines, { request, server, set }: Asked): Response {
  server?.timeout(request, 0)
  let end = () => {}
  const body = new ReadableStream<Uint8Array>(
    {
      start(controller) {
        const encoder = new TextEncoder()
        const say = (text: string) => controller.enqueue(encoder.encode(text))
        const send = (line: string) => {
          if ((controller.desiredSize ?? 0) > -MOST_WAITING) say(`data: ${line.trim()}\n\n`)
        }
        for (const line of lines.last()) send(line)
        const comment = setInterval(() => say(':\n\n'), COMMENT_EVERY)
        const unfollow = lines.follow(send, () => {
          end()
          controller.close()
        })
        end = () => {
          clearInterval(comment)
          unfollow()
        }
      },
      cancel: () => end(),
    },
    { highWaterMark: 0 },
  )
  const headers = {
    ...(set.headers as Record<string, string>),
    'content-type': 'text/event-stream',
  }
  return new Response(body, { headers })
}
