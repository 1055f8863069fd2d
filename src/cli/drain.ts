import type { Log } from '../lib/log.ts'

/** How long requests in flight may take once we are told to stop, in ms. */
const DRAIN_TIMEOUT = 10_000
const AFTER_REPLIES = 5

/** Lets requests in flight finish; after `limit` ms, or when told again, they are cut. */
export async function drain(
  server: Bun.Server<unknown>,
  again: Promise<unknown>,
  log: Log,
  limit = DRAIN_TIMEOUT,
) {
  const graceful = server.stop().then(() => 'done')
  const timeout = Bun.sleep(limit).then(() => 'timeout')
  const outcome = await Promise.race([graceful, timeout, again.then(() => 'told again')])
  if (outcome !== 'done') {
    log.warn({ outcome }, 'requests in flight were cut off')
    await server.stop(true)
  }
  await drainReplies()
}

/** Waits for what follows a reply, such as its line in the log. */
export async function drainReplies() {
  await new Promise((resolve) => setTimeout(resolve, AFTER_REPLIES))
}
