import type { Sessions } from './handlers/users/sessions.ts'
import type { FakeRequest } from './requests.ts'
import type { State } from './state.ts'

type Stream = { userId: string; sessionId: string; send: (text: string) => void; end: () => void }

const KINDS = ['subscription', 'profile', 'data', 'settings']
const RETRY_MS = 3_000

export function createStreams(state: State, sessions: Sessions) {
  const streams = new Set<Stream>()
  state.onChange((userId, kind) => {
    for (const stream of [...streams])
      if (userId === null || stream.userId === userId)
        stream.send(formatEvent(kind, state.countChanges()))
  })
  sessions.onEnd(({ id }) => {
    for (const stream of [...streams]) {
      if (stream.sessionId !== id) continue
      stream.send('event: signed-out\ndata: {}\n\n')
      stream.end()
    }
  })
  return { open, cut, count: () => streams.size }

  /** The reply to a request for a stream. It begins with the kinds that have changed since `Last-Event-ID`. */
  function open({ userId, sessionId, headers, signal }: FakeRequest): Response {
    const lastId = headers['last-event-id']
    const changes = state.changesFor(state.find(userId))
    const missed =
      lastId === undefined ? [] : KINDS.filter((kind) => (changes.get(kind) ?? 0) > Number(lastId))
    const encoder = new TextEncoder()
    const stream: Stream = { userId, sessionId, send: () => {}, end: () => {} }
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        const finish = (close: () => void) => {
          if (streams.delete(stream)) close()
        }
        stream.send = (text) => controller.enqueue(encoder.encode(text))
        stream.end = () => finish(() => controller.close())
        signal?.addEventListener('abort', () => finish(() => controller.error(signal.reason)))
        for (const kind of missed) stream.send(formatEvent(kind))
        stream.send(`retry: ${RETRY_MS}\n${formatEvent('ready', state.countChanges())}`)
      },
      cancel: () => void streams.delete(stream),
    })
    streams.add(stream)
    return new Response(body, { headers: { 'content-type': 'text/event-stream; charset=utf-8' } })
  }

  /** Ends all streams, as a lost connection does. */
  function cut() {
    for (const stream of [...streams]) stream.end()
  }
}

function formatEvent(name: string, id?: number): string {
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${name}\ndata: {}\n\n`
}
