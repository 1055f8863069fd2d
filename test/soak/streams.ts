import { openStream } from '../support/event-stream.ts'
import type { Client } from './client.ts'
import type { User, Users } from './users.ts'

export type Streams = ReturnType<typeof createStreams>

type Stream = Awaited<ReturnType<typeof openStream>>

/** How long a change may take to reach an app, in ms. */
const TIMEOUT = 120_000
/** The maximum number of connected apps; the one connected longest is disconnected when another connects. */
const MAX_OPEN = 50

/** Apps that keep their stream of changes open and continue it when it ends. */
export function createStreams(client: Client, users: Users) {
  const open = new Map<User, Stream>()
  return { renameAndWaitForEvent, closeAll }

  /** Renames the user, and waits until the stream reports that the profile has changed. */
  async function renameAndWaitForEvent(user: User) {
    const startedAt = performance.now()
    let stream = await reopen(user)
    let count = stream?.events.length ?? 0
    await users.rename(user)
    while (!(await hasProfileEvent(stream, count))) {
      if (performance.now() - startedAt > TIMEOUT) {
        client.problems.push(`${user.email} did not receive its new name: ${stream?.names()}`)
        return
      }
      await Bun.sleep(500)
      stream = await reopen(user)
      count = 0
    }
  }

  async function closeAll() {
    await Promise.all([...open.values()].map((stream) => stream.close()))
  }

  /** Continues the user's stream after its last event; null while the server cannot be reached. */
  async function reopen(user: User): Promise<Stream | null> {
    const last = open.get(user)
    await last?.close()
    const lastEventId = last?.lastId() ?? null
    const stream = await openStream(fetch, user.token, { lastEventId, base: client.url }).catch(
      () => null,
    )
    if (stream?.status === 401) await users.refresh(user)
    if (stream?.status !== 200) return null
    const isReady = await stream.next('ready').catch(() => null)
    if (!isReady) return null
    open.delete(user)
    open.set(user, stream)
    const [longest, ...others] = open.keys()
    if (longest && others.length >= MAX_OPEN) await close(longest)
    return stream
  }

  async function close(user: User) {
    await open.get(user)?.close()
    open.delete(user)
  }

  /** Whether there is a profile event after the first `count` events. */
  async function hasProfileEvent(stream: Stream | null, count: number): Promise<boolean> {
    const event = await stream?.next('profile', count).catch(() => null)
    return event != null
  }
}
