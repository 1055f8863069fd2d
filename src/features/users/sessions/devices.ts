import { and, asc, desc, eq, inArray, sql } from 'drizzle-orm'
import { notFound } from '../../../lib/errors.ts'
import type { Tx } from '../../../platform/db/db.ts'
import { prepareFind, prepareUpsert } from '../../../platform/db/prepared.ts'
import type { UsersContext } from '../context/context.ts'
import type { OneTimeTokens } from '../credentials/one-time-tokens.ts'
import type { SessionEndings } from './session-endings.ts'

/** The same as the maximum number of sessions. */
const MAX_DEVICES = 20

export type Devices = ReturnType<typeof createDevices>

export function createDevices(
  deps: UsersContext & { endings: SessionEndings; oneTimeTokens: OneTimeTokens },
) {
  const { db, endings, oneTimeTokens, now } = deps
  const { sessions, knownDevices } = db.tables
  const selectKnown = db.prepareWrite((tx) =>
    tx
      .select()
      .from(knownDevices)
      .where(eq(knownDevices.userId, sql.placeholder('userId')))
      .orderBy(desc(knownDevices.seenAt)),
  )
  const storeSeen = prepareUpsert(db, knownDevices)
  const findSessions = db.read
    .select()
    .from(sessions)
    .where(eq(sessions.userId, sql.placeholder('userId')))
    .orderBy(desc(sessions.lastUsedAt), desc(sessions.id))
    .prepare()
  const findKnown = prepareFind(db, knownDevices)
  return { list, listKnown, isKnown, isSignedIn, end, remember }

  async function list(userId: string, currentId: string) {
    const rows = await findSessions.execute({ userId })
    return rows.map(({ id, device, createdAt, lastUsedAt }) => ({
      _id: id,
      device,
      createdAt: createdAt.toISOString(),
      lastUsedAt: lastUsedAt.toISOString(),
      current: id === currentId,
    }))
  }

  /** Includes devices that have signed out, for the export. */
  async function listKnown(userId: string) {
    const rows = await db.read
      .select()
      .from(knownDevices)
      .where(eq(knownDevices.userId, userId))
      .orderBy(desc(knownDevices.seenAt), asc(knownDevices.device))
    return rows.map(({ device, seenAt }) => ({ device, seenAt: seenAt.toISOString() }))
  }

  async function isKnown(userId: string, device: string): Promise<boolean> {
    return (await findKnown(db.read, { userId, device })) !== undefined
  }

  async function isSignedIn(sessionId: string): Promise<boolean> {
    return (await db.read.$count(sessions, eq(sessions.id, sessionId))) > 0
  }

  /** Ends one of the user's sessions, and revokes the user's pending tokens. Throws `not_found` for any other session. */
  async function end(userId: string, sessionId: string) {
    await db.write(async (tx) => {
      if (!(await endings.endIfOwned(tx, userId, sessionId, 'signed_out'))) throw notFound()
      await oneTimeTokens.revoke(tx, userId)
    })
  }

  /** Returns whether the device is new: not the user's first, and not among the 20 most recently seen. */
  async function remember(tx: Tx, userId: string, device: string): Promise<boolean> {
    const known = await selectKnown(tx).execute({ userId })
    await storeSeen(tx, { userId, device, seenAt: now() })
    const others = known.map(({ device: name }) => name).filter((name) => name !== device)
    const forgotten = others.slice(MAX_DEVICES - 1)
    if (forgotten.length > 0) {
      const isForgotten = inArray(knownDevices.device, forgotten)
      await tx.delete(knownDevices).where(and(eq(knownDevices.userId, userId), isForgotten))
    }
    return known.length > 0 && others.length === known.length
  }
}
