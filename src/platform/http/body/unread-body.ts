import { withTimeout } from '../../../lib/concurrency/with-timeout.ts'
import { hasUnreadBody, readChunks } from './body.ts'

/** A response waits this long for the rest of its request, so that most connections can stay open. */
const MAX_WAIT_MS = 100
/** After that, the rest is discarded within these bounds. */
const MAX_DISCARD_MS = 120_000
/** A proxy that has the response may send no more, and wait for the end of the connection. */
const MAX_PAUSE_MS = 2_000
const MAX_DISCARDED_BYTES = 128 * 1024 * 1024

/**
 * Keeps reading before closing: a client that is still sending would get a reset instead of the response (RFC 9112
 * §9.6). If much is missing, a refusal announces the close. `onEnd` is called when nothing more is read.
 */
export async function replyAfterBody(
  request: Request,
  reply: Response,
  onEnd: () => void,
): Promise<Response> {
  const end = discardBody(request)
    .catch(() => {})
    .finally(onEnd)
  await withTimeout(end, MAX_WAIT_MS, () => new Error('a long body')).catch(() => {})
  if (!hasUnreadBody(request) || reply.status < 400) return reply
  const content = await reply.bytes()
  // The runtime closes the connection at the end of the response, so the client gets the content first.
  const stream = new ReadableStream<Uint8Array>({
    async start(controller) {
      controller.enqueue(content)
      await end
      controller.close()
    },
  })
  const headers = new Headers(reply.headers)
  headers.delete('content-length')
  headers.set('connection', 'close')
  return new Response(stream, { status: reply.status, headers })
}

async function discardBody(request: Request) {
  const endsAt = performance.now() + MAX_DISCARD_MS
  let size = 0
  const chunks = readChunks(request)
  while (size < MAX_DISCARDED_BYTES && performance.now() < endsAt) {
    const { value } = await withTimeout(chunks.next(), MAX_PAUSE_MS, () => new Error('a pause'))
    if (!value) return
    size += value.byteLength
  }
}
