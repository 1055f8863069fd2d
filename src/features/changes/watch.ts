import { gt } from 'drizzle-orm'
import { chunk } from '../../lib/concurrency/chunk.ts'
import { firstIdAt, readIdTime } from '../../lib/ids.ts'
import type { Log } from '../../lib/log/log.ts'
import { MINUTE_MS } from '../../lib/time/durations.ts'
import type { ChangesDb } from './schema.ts'
import type { Streams } from './streams.ts'

type WatchDeps = {
  db: ChangesDb & { isShared: boolean }
  streams: Streams
  /** Delivers a change that concerns every user, unless it is known. */
  deliverToAll: (kind: string, changeId: string) => void
  activeSessions: (ids: string[]) => Promise<string[]>
  newId: () => string
  log: Log
}

/** The kind of a row that records the end of one of its user's sessions. */
export const SESSION_ENDED = 'signed-out'

/** Commits take time, and the clocks of instances differ. */
export const OVERLAP_MS = 2 * MINUTE_MS
const POLL_MS = 500
/** Most polls look back less far; every tenth covers the whole overlap. */
const SHORT_OVERLAP_MS = 3_000
const POLLS_PER_LONG_POLL = 10
/** Longer intervals let proxies and mobile networks drop the connection. */
const HEARTBEAT_MS = 25_000
const SESSION_CHECK_MS = 30_000
const SESSIONS_PER_QUERY = 500

/** Keeps open streams alive, ends those whose session has ended, and passes on the changes from other instances. */
export function createWatch(deps: WatchDeps) {
  const { db, streams, deliverToAll, activeSessions, newId, log } = deps
  const { userChanges } = db.tables
  let timers: Timer[] = []
  /** When the last successful poll began, in ms since 1970, by the clock that ids are generated with. */
  let polledAt = 0
  let polls = 0
  let isFailing = false
  return { start, stop, checkSessions, checkAllSessions }

  function start() {
    if (timers.length > 0) return
    timers = [
      setInterval(streams.sendHeartbeat, HEARTBEAT_MS),
      setInterval(withoutOverlap(checkAllSessions), SESSION_CHECK_MS),
    ]
    if (!db.isShared) return
    polledAt = readIdTime(newId())
    timers.push(setInterval(withoutOverlap(poll), POLL_MS))
  }

  function stop() {
    for (const timer of timers) clearInterval(timer)
    timers = []
  }

  /** Delivers changes from other instances. Reads recent rows again: a change may become visible after a later one. */
  async function poll() {
    const startedAt = readIdTime(newId())
    const overlap = polls++ % POLLS_PER_LONG_POLL === 0 ? OVERLAP_MS : SHORT_OVERLAP_MS
    const since = firstIdAt(Math.min(polledAt, startedAt) - overlap)
    const rows = await db.read.select().from(userChanges).where(gt(userChanges.changeId, since))
    for (const { userId, kind, changeId } of rows) {
      if (userId === null) deliverToAll(kind, changeId)
      else if (kind !== SESSION_ENDED) streams.deliver(userId, kind, changeId)
      else if (streams.learn(userId, kind, changeId))
        await checkSessions(streams.findStreams(userId))
    }
    polledAt = startedAt
  }

  /** Ends the streams of sessions that have expired, or ended on another instance. */
  async function checkAllSessions() {
    for (const some of chunk(streams.openStreams(), SESSIONS_PER_QUERY)) await checkSessions(some)
  }

  /** Ends the streams of the given sessions that are no longer active. */
  async function checkSessions(sessions: { userId: string; sessionId: string }[]) {
    if (sessions.length === 0) return
    const active = new Set(await activeSessions(sessions.map(({ sessionId }) => sessionId)))
    for (const { userId, sessionId } of sessions)
      if (!active.has(sessionId)) streams.endSession(userId, sessionId)
  }

  /** Skips a run while the previous one is still running; logs only the first of consecutive failures. */
  function withoutOverlap(work: () => Promise<void>) {
    let isRunning = false
    return async () => {
      if (isRunning) return
      isRunning = true
      try {
        await work()
        isFailing = false
      } catch (err) {
        if (!isFailing) log.warn({ err }, 'the changes for open streams cannot be read')
        isFailing = true
      } finally {
        isRunning = false
      }
    }
  }
}
