import { and, asc, desc, eq, ne } from 'drizzle-orm'
import type { Tx } from '../../../db/db.ts'
import { AppError } from '../../../lib/errors.ts'
import type { PeopleDb } from '../schema.ts'

export type Devices = ReturnType<typeof createDevices>

const SESSIONS_LIMIT = 20

/** The sessions of a person as the person sees them: devices that are signed in. */
export function createDevices({ db, now }: { db: PeopleDb; now: () => Date }) {
  const { sessions, knownDevices } = db.tables
  return { list, known, end, endOthers, endAll, evictOldest, isNew }

  async function list(userId: string, currentId: string) {
    const rows = await db.read
      .select()
      .from(sessions)
      .where(eq(sessions.userId, userId))
      .orderBy(desc(sessions.lastUsedAt))
    return rows.map(({ id, device, createdAt, lastUsedAt }) => ({
      _id: id,
      device,
      createdAt: createdAt.toISOString(),
      lastUsedAt: lastUsedAt.toISOString(),
      current: id === currentId,
    }))
  }

  /** Every device that has signed in, also those that are signed out by now, for the export. */
  async function known(userId: string) {
    const rows = await db.read.select().from(knownDevices).where(eq(knownDevices.userId, userId))
    return rows.map(({ device, seenAt }) => ({ device, seenAt: seenAt.toISOString() }))
  }

  /** Ends one session of a user. Throws `not_found` when it is none of this user's. */
  async function end(userId: string, sessionId: string) {
    const ended = await db.write((tx) =>
      tx
        .delete(sessions)
        .where(and(eq(sessions.id, sessionId), eq(sessions.userId, userId)))
        .returning({ id: sessions.id }),
    )
    if (ended.length === 0) throw new AppError('not_found', 'Not found.')
  }

  /** Ends all sessions of a user but one, as part of the change. */
  async function endOthers(tx: Tx, userId: string, currentId: string) {
    await tx.delete(sessions).where(and(eq(sessions.userId, userId), ne(sessions.id, currentId)))
  }

  async function endAll(tx: Tx, userId: string) {
    await tx.delete(sessions).where(eq(sessions.userId, userId))
  }

  /** Ends the sessions that were used least lately, so that one more is within the limit. */
  async function evictOldest(tx: Tx, userId: string) {
    const open = await tx
      .select({ id: sessions.id })
      .from(sessions)
      .where(eq(sessions.userId, userId))
      .orderBy(asc(sessions.lastUsedAt))
    for (const { id } of open.slice(0, Math.max(0, open.length + 1 - SESSIONS_LIMIT))) {
      await tx.delete(sessions).where(eq(sessions.id, id))
    }
  }

  /** Remembers a device; true when the person has used others before, but never this one. */
  async function isNew(tx: Tx, userId: string, device: string): Promise<boolean> {
    const known = await tx.select().from(knownDevices).where(eq(knownDevices.userId, userId))
    const seenAt = now()
    await tx
      .insert(knownDevices)
      .values({ userId, device, seenAt })
      .onConflictDoUpdate({ target: [knownDevices.userId, knownDevices.device], set: { seenAt } })
    return known.length > 0 && !known.some((one) => one.device === device)
  }
}
