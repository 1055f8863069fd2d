/** An event of a stream. `id` is the id that the client would send as `Last-Event-ID` afterwards. */
export type StreamEvent = { name: string; id: string | null }

const PATH = '/api/user/changes/v1'

/** Opens a user's stream of changes through `ask`, which sends a request and returns its response. */
export async function openStream(
  ask: (request: Request) => Response | Promise<Response>,
  token: string,
  { lastEventId = null as string | null, base = 'http://localhost' } = {},
) {
  const controller = new AbortController()
  const headers: Record<string, string> = { authorization: `Bearer ${token}` }
  if (lastEventId !== null) headers['last-event-id'] = lastEventId
  const { signal } = controller
  const reply = await ask(new Request(base + PATH, { headers, signal }))
  const events: StreamEvent[] = []
  let text = ''
  let id: string | null = lastEventId
  let changed = Promise.withResolvers<void>()
  let isOver = false
  const reader = reply.body?.getReader()
  const reading = reply.status === 200 ? read() : Promise.resolve()
  return {
    status: reply.status,
    headers: reply.headers,
    events,
    names: () => events.map(({ name }) => name),
    lastId: () => id,
    next,
    ended: () =>
      withDeadline(reading, () => `the stream is still open after ${JSON.stringify(events)}`),
    close,
  }

  /** Waits until an event of this name has arrived after the first `count` events. */
  async function next(name: string, count = 0): Promise<StreamEvent> {
    for (;;) {
      const found = events.slice(count).find((event) => event.name === name)
      if (found) return found
      if (isOver) throw new Error(`the stream ended before ${name}: ${JSON.stringify(events)}`)
      await withDeadline(changed.promise, () => `no ${name}: ${JSON.stringify(events)}`)
    }
  }

  async function close() {
    controller.abort()
    // Without a network, nothing passes the abort on.
    await reader?.cancel().catch(() => {})
    await reading
  }

  async function read() {
    const decoder = new TextDecoder()
    try {
      for (;;) {
        const { value, done } = (await reader?.read()) ?? { done: true }
        if (done) return
        text += decoder.decode(value, { stream: true })
        const blocks = text.split('\n\n')
        text = blocks.pop() ?? ''
        for (const block of blocks) dispatch(block)
        changed.resolve()
        changed = Promise.withResolvers()
      }
    } catch {
      // The connection was lost, or closed by this test.
    } finally {
      isOver = true
      changed.resolve()
    }
  }

  function dispatch(block: string) {
    const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1]
    id = field('id') ?? id
    const name = field('event')
    if (name !== undefined) events.push({ name, id })
  }
}

function withDeadline<T>(promise: Promise<T>, describe: () => string): Promise<T> {
  const late = Bun.sleep(10_000).then(() => {
    throw new Error(describe())
  })
  return Promise.race([promise, late])
}
