import { and, asc, desc, eq, inArray } from 'drizzle-orm'
import { notFound } from '../../../lib/errors.ts'
import type { Tx } from '../../../platform/db/db.ts'
import type { UsersDb } from '../schema.ts'
import type { SessionEndings } from './session-endings.ts'

type DevicesDeps = { db: UsersDb; endings: SessionEndings; now: () => Date }

/** The same as the maximum number of sessions. */
const MAX_DEVICES = 20

export type Devices = ReturnType<typeof createDevices>

/** A user's sessions, presented as signed-in devices. */
export function createDevices({ db, endings, now }: DevicesDeps) {
  const { sessions, knownDevices } = db.tables
  return { list, known, end, remember }

  async function list(userId: string, currentId: string) {
    const rows = await db.read
      .select()
      .from(sessions)
      .where(eq(sessions.userId, userId))
      .orderBy(desc(sessions.lastUsedAt), desc(sessions.id))
    return rows.map(({ id, device, createdAt, lastUsedAt }) => ({
      _id: id,
      device,
      createdAt: createdAt.toISOString(),
      lastUsedAt: lastUsedAt.toISOString(),
      current: id === currentId,
    }))
  }

  /** All devices that have ever signed in, even if they have signed out since, for the export. */
  async function known(userId: string) {
    const rows = await db.read
      .select()
      .from(knownDevices)
      .where(eq(knownDevices.userId, userId))
      .orderBy(desc(knownDevices.seenAt), asc(knownDevices.device))
    return rows.map(({ device, seenAt }) => ({ device, seenAt: seenAt.toISOString() }))
  }

  /** Ends one of the user's sessions. Throws `not_found` for any other session. */
  async function end(userId: string, sessionId: string) {
    const isEnded = await db.write((tx) => endings.endOneOf(tx, userId, sessionId, 'signed_out'))
    if (!isEnded) throw notFound()
  }

  /**
   * Remembers a device. Returns whether it is new: the user has other devices, but this one is not
   * among the 20 most recently seen.
   */
  async function remember(tx: Tx, userId: string, device: string): Promise<boolean> {
    const isTheirs = eq(knownDevices.userId, userId)
    const known = await tx
      .select()
      .from(knownDevices)
      .where(isTheirs)
      .orderBy(desc(knownDevices.seenAt))
    const seenAt = now()
    await tx
      .insert(knownDevices)
      .values({ userId, device, seenAt })
      .onConflictDoUpdate({ target: [knownDevices.userId, knownDevices.device], set: { seenAt } })
    const others = known.map(({ device: name }) => name).filter((name) => name !== device)
    const forgotten = others.slice(MAX_DEVICES - 1)
    if (forgotten.length > 0) {
      await tx.delete(knownDevices).where(and(isTheirs, inArray(knownDevices.device, forgotten)))
    }
    return known.length > 0 && others.length === known.length
  }
}
