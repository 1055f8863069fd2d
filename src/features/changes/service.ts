import { eq, isNull, or, sql } from 'drizzle-orm'
import { restarting } from '../../lib/errors.ts'
import { firstIdAt, isId, readIdTime } from '../../lib/ids.ts'
import type { Log } from '../../lib/log/log.ts'
import { AFTER_CACHES_MS, type Tx } from '../../platform/db/db.ts'
import { prepareUpsert } from '../../platform/db/prepared.ts'
import type { ChangesDb } from './schema.ts'
import { createStreams, isKind, KINDS, type Kind } from './streams.ts'
import { createWatch, OVERLAP_MS, SESSION_ENDED } from './watch.ts'

type ChangesDeps = {
  db: ChangesDb & { isShared: boolean }
  newId: () => string
  log: Log
  activeSessions: (ids: string[]) => Promise<string[]>
}

type Session = { userId: string; sessionId: string }

export type Changes = ReturnType<typeof createChanges>

/** Keeps only the latest change of each kind: the table stays small, and an app that was offline gets few events. */
export function createChanges(deps: ChangesDeps) {
  const { db, newId } = deps
  const { userChanges } = db.tables
  const streams = createStreams((count) => (count > 0 ? watch.start() : watch.stop()))
  const watch = createWatch({ ...deps, streams, deliverToAll })
  /** By kind, the latest change for all users that is scheduled or has been delivered. */
  const scheduled = new Map<string, string>()
  let isClosed = false
  const changesFor = db.read
    .select()
    .from(userChanges)
    .where(or(eq(userChanges.userId, sql.placeholder('userId')), isNull(userChanges.userId)))
    .prepare()
  const upsert = prepareUpsert(db, userChanges, ['changeId'])
  return {
    record,
    recordForAll,
    recordEndedSessions,
    endStreams,
    moveAll,
    list,
    open,
    close,
    checkSessions: watch.checkAllSessions,
    countStreams: streams.count,
  }

  /** In the caller's transaction. */
  async function record(tx: Tx, userId: string, kind: Kind) {
    const changeId = await store(tx, userId, kind)
    tx.afterCommit(() => streams.deliver(userId, kind, changeId))
  }

  /** In the caller's transaction. */
  async function recordForAll(tx: Tx, kind: Kind) {
    const changeId = newId()
    await upsert(tx, { key: kind, userId: null, kind, changeId })
    tx.afterCommit(() => deliverToAll(kind, changeId))
  }

  /** An app that reads immediately must not get the old value from another instance's cache. */
  function deliverToAll(kind: string, changeId: string) {
    if (!db.isShared) return streams.deliverToAll(kind, changeId)
    // Polls find the same change several times before it is delivered.
    if (scheduled.get(kind) === changeId) return
    scheduled.set(kind, changeId)
    setTimeout(() => streams.deliverToAll(kind, changeId), AFTER_CACHES_MS).unref()
  }

  /** In the caller's transaction. */
  async function recordEndedSessions(tx: Tx, sessions: { id: string; userId: string }[]) {
    for (const userId of new Set(sessions.map((session) => session.userId)))
      await store(tx, userId, SESSION_ENDED)
    tx.afterCommit(() => {
      for (const { id, userId } of sessions) streams.endSession(userId, id)
    })
  }

  /** In the caller's transaction. */
  async function endStreams(tx: Tx, userId: string) {
    tx.afterCommit(() => streams.endUser(userId))
  }

  /** Records the guest's changes for the account to which the guest's data moves. */
  async function moveAll(tx: Tx, guestId: string, userId: string) {
    const rows = await tx.select().from(userChanges).where(eq(userChanges.userId, guestId))
    for (const { kind } of rows) if (isKind(kind)) await record(tx, userId, kind)
    await endStreams(tx, guestId)
  }

  /** For the export. */
  async function list(userId: string) {
    const rows = await db.read.select().from(userChanges).where(eq(userChanges.userId, userId))
    return rows.map(({ kind, changeId }) => ({
      kind,
      at: new Date(readIdTime(changeId)).toISOString(),
    }))
  }

  /** Returns the id of the change. The user must exist. */
  async function store(tx: Tx, userId: string, kind: string): Promise<string> {
    const changeId = newId()
    await upsert(tx, { key: `${userId} ${kind}`, userId, kind, changeId })
    return changeId
  }

  /**
   * Begins with the kinds that may have changed since `lastEventId`, or with all kinds if that id is unusable. Throws
   * `unavailable` while the server stops.
   */
  async function open(session: Session, lastEventId: string | null, signal: AbortSignal) {
    if (isClosed) throw restarting()
    const stream = streams.add(session)
    try {
      // Generated before the rows are read: a change that is missing from them has a greater id.
      const changeId = newId()
      const rows = await changesFor.execute({ userId: session.userId })
      for (const row of rows) {
        const isRecent = readIdTime(row.changeId) > readIdTime(changeId) - OVERLAP_MS
        // The app may still read the old value from a cache, so its event is delayed.
        if (db.isShared && row.userId === null && isRecent) deliverToAll(row.kind, row.changeId)
        else streams.catchUp(stream, row)
      }
      const missed = missedKinds(lastEventId, rows, readIdTime(changeId))
      // The session may have ended since it was checked.
      await watch.checkSessions([session])
      signal.throwIfAborted()
      return streams.start(stream, missed, changeId)
    } catch (error) {
      streams.remove(stream)
      throw error
    }
  }

  /** Closes all streams, so that a stopping server does not wait for them. */
  function close() {
    isClosed = true
    streams.closeAll()
  }
}

type Row = ChangesDb['tables']['userChanges']['$inferSelect']

/** The kinds that may have changed since an app received the event with this id. */
function missedKinds(lastEventId: string | null, rows: Row[], at: number): readonly string[] {
  if (lastEventId === null) return []
  if (!isId(lastEventId) || readIdTime(lastEventId) > at + OVERLAP_MS) return KINDS
  const since = firstIdAt(readIdTime(lastEventId) - OVERLAP_MS)
  const changed = rows.filter(({ changeId }) => changeId >= since).map(({ kind }) => kind)
  return KINDS.filter((kind) => changed.includes(kind))
}
