/** Names of events that tell an app what to read again. */
export const KINDS = ['subscription', 'profile', 'data', 'settings'] as const
export type Kind = (typeof KINDS)[number]

type Session = { userId: string; sessionId: string }

/** `userId` is null for a change that concerns every user. */
type Change = { userId: string | null; kind: string; changeId: string }

type Stream = Session & {
  controller: ReadableStreamDefaultController<Uint8Array> | null
  /** The latest event of each name while the stream cannot accept it; null while it can. */
  waiting: Map<string, Uint8Array> | null
}

/** A user's open streams, and the latest change of each kind that they know. */
type Audience = { streams: Set<Stream>; known: Map<string, string> }

export type Streams = ReturnType<typeof createStreams>

/** A user's oldest stream is closed to make room for a new one. */
const MAX_STREAMS_PER_USER = 10
/** Delays before a client connects again, in ms: normally, and if its user has too many streams. */
const RETRY_MS = 3_000
const CROWDED_RETRY_MS = 60_000

const encoder = new TextEncoder()
const HEARTBEAT = encoder.encode(':\n\n')
const SIGNED_OUT = encodeEvent('signed-out')
const CROWDED = encoder.encode(`retry: ${CROWDED_RETRY_MS}\n\n`)

/** The event streams of this process. An app that reads slowly gets only the latest event of each kind. */
export function createStreams(onCountChange: (count: number) => void) {
  const audiences = new Map<string, Audience>()
  const knownByAll = new Map<string, string>()
  let count = 0
  return {
    add,
    start,
    remove,
    catchUp,
    learn,
    deliver,
    deliverToAll,
    endSession,
    endUser,
    closeAll,
    sendHeartbeat,
    openStreams,
    findStreams,
    count: () => count,
  }

  /** Adds a stream that holds its events back until `start`. */
  function add({ userId, sessionId }: Session): Stream {
    const stream: Stream = { userId, sessionId, controller: null, waiting: new Map() }
    const audience = audiences.get(userId) ?? { streams: new Set(), known: new Map() }
    audiences.set(userId, audience)
    const [oldest] = audience.streams
    if (oldest && audience.streams.size >= MAX_STREAMS_PER_USER) end(oldest, CROWDED)
    audience.streams.add(stream)
    onCountChange(++count)
    return stream
  }

  /**
   * Sends the `missed` kinds, then `ready`. Only `ready` has an id, so an app that loses the connection before it
   * requests the kinds again.
   */
  function start(stream: Stream, missed: Iterable<string>, changeId: string) {
    const events = [...missed].map((kind) => encodeEvent(kind))
    const ready = encoder.encode(`retry: ${RETRY_MS}\nid: ${changeId}\nevent: ready\ndata: {}\n\n`)
    return new ReadableStream<Uint8Array>({
      start(controller) {
        stream.controller = controller
        controller.enqueue(Buffer.concat([...events, ready, ...(stream.waiting?.values() ?? [])]))
        stream.waiting = null
        if (!audiences.get(stream.userId)?.streams.has(stream)) controller.close()
      },
      pull: (controller) => flush(stream, controller),
      cancel: () => void remove(stream),
    })
  }

  function remove(stream: Stream): boolean {
    const audience = audiences.get(stream.userId)
    if (!audience?.streams.delete(stream)) return false
    if (audience.streams.size === 0) audiences.delete(stream.userId)
    onCountChange(--count)
    return true
  }

  /** Called while `stream` opens. Other streams that lack the change get it now: it is not reported again. */
  function catchUp(stream: Stream, { userId, kind, changeId }: Change) {
    const isOnly = audiences.get(stream.userId)?.streams.size === 1
    if (userId === null) {
      if (count > 1) deliverToAll(kind, changeId)
      else knownByAll.set(kind, changeId)
    } else if (isOnly) learn(userId, kind, changeId)
    else if (isKind(kind)) deliver(userId, kind, changeId)
  }

  /** Returns whether the change is new to the user's open streams. */
  function learn(userId: string, kind: string, changeId: string): boolean {
    const known = audiences.get(userId)?.known
    if (!known || known.get(kind) === changeId) return false
    known.set(kind, changeId)
    return true
  }

  /** Notifies the user's apps of a change, unless they already have it. */
  function deliver(userId: string, kind: string, changeId: string) {
    if (!learn(userId, kind, changeId)) return
    const event = encodeEvent(kind, changeId)
    for (const stream of findStreams(userId)) send(stream, kind, event)
  }

  function deliverToAll(kind: string, changeId: string) {
    if (knownByAll.get(kind) === changeId) return
    knownByAll.set(kind, changeId)
    const event = encodeEvent(kind, changeId)
    for (const stream of openStreams()) send(stream, kind, event)
  }

  function endSession(userId: string, sessionId: string) {
    for (const stream of findStreams(userId))
      if (stream.sessionId === sessionId) end(stream, SIGNED_OUT)
  }

  function endUser(userId: string) {
    for (const stream of findStreams(userId)) end(stream, SIGNED_OUT)
  }

  /** Closes every stream without an event: the apps connect again. */
  function closeAll() {
    for (const stream of openStreams()) end(stream, null)
  }

  function sendHeartbeat() {
    for (const stream of openStreams())
      if (stream.waiting === null && isReading(stream.controller)) write(stream, HEARTBEAT)
  }

  function openStreams(): Stream[] {
    return [...audiences.values()].flatMap(({ streams }) => [...streams])
  }

  function findStreams(userId: string): Stream[] {
    return [...(audiences.get(userId)?.streams ?? [])]
  }

  function end(stream: Stream, lastEvent: Uint8Array | null) {
    if (!remove(stream)) return
    if (stream.controller === null) {
      if (lastEvent) stream.waiting?.set('', lastEvent)
      return
    }
    if (lastEvent) write(stream, lastEvent)
    write(stream, null)
  }

  function send(stream: Stream, name: string, event: Uint8Array) {
    if (stream.waiting === null && isReading(stream.controller)) {
      write(stream, event)
      return
    }
    stream.waiting ??= new Map()
    // Moves to the end: the latest event has the greatest id.
    stream.waiting.delete(name)
    stream.waiting.set(name, event)
  }

  /** Writes a chunk, or ends the stream. Never throws: an error would fail the change being reported. */
  function write(stream: Stream, chunk: Uint8Array | null) {
    try {
      if (chunk === null) stream.controller?.close()
      else stream.controller?.enqueue(chunk)
    } catch {
      // The connection has just been lost.
      remove(stream)
    }
  }
}

function flush(stream: Stream, controller: ReadableStreamDefaultController<Uint8Array>) {
  if (stream.waiting === null) return
  const events = [...stream.waiting.values()]
  stream.waiting = null
  controller.enqueue(Buffer.concat(events))
}

/** Whether earlier events have been passed on to the connection. */
function isReading(controller: Stream['controller']): boolean {
  return (controller?.desiredSize ?? 0) > 0
}

function encodeEvent(name: string, changeId?: string): Uint8Array {
  const id = changeId === undefined ? '' : `id: ${changeId}\n`
  return encoder.encode(`${id}event: ${name}\ndata: {}\n\n`)
}

export function isKind(kind: string): kind is Kind {
  return (KINDS as readonly string[]).includes(kind)
}
