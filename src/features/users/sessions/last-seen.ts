import { and, asc, eq, gt, lte, max } from 'drizzle-orm'
import { DAY_MS } from '../../../lib/time/durations.ts'
import { backfill, createCursor } from '../../../platform/db/batched-changes.ts'
import type { Tx } from '../../../platform/db/db.ts'
import { prepareUpdate } from '../../../platform/db/prepared.ts'
import type { Device } from '../../../platform/http/request/request-headers.ts'
import type { UsersContext } from '../context/context.ts'

type Seen = { id: string; lastSeenAt: Date; platform: string | null; country: string | null }

export type LastSeen = ReturnType<typeof createLastSeen>

const USERS_PER_CHANGE = 200

export function createLastSeen({ db, now }: UsersContext) {
  const { users, userBackfills, sessions, knownDevices } = db.tables
  const updateUser = prepareUpdate(db, users)
  return { record, backfill: backfillAll }

  /** Records a sign-in or a refresh; writes once a day (UTC), and when the platform or the country has changed. */
  async function record(tx: Tx, seen: Seen, device: Pick<Device, 'platform' | 'country'>) {
    const at = now()
    const platform = device.platform ?? seen.platform
    const country = device.country ?? seen.country
    const isStored =
      toDay(seen.lastSeenAt) === toDay(at) && platform === seen.platform && country === seen.country
    if (isStored) return
    await updateUser(tx, { id: seen.id }, { lastSeenAt: at, platform, country })
  }

  /** For users who existed before the column: stores when they were last seen, if their devices show it. */
  async function backfillAll(signal: AbortSignal) {
    await backfill(db, createCursor(db, userBackfills, 'last seen'), storeAfter, signal)
  }

  async function storeAfter(tx: Tx, after: string) {
    const rows = await tx
      .select({ id: users.id, lastSeenAt: users.lastSeenAt })
      .from(users)
      .where(gt(users.id, after))
      .orderBy(asc(users.id))
      .limit(USERS_PER_CHANGE)
    const reached = rows.at(-1)?.id
    if (reached === undefined) return undefined
    const lastUse = await readLastUse(tx, after, reached)
    for (const { id, lastSeenAt } of rows) {
      const usedAt = lastUse.get(id)
      if (usedAt === undefined || usedAt <= lastSeenAt) continue
      await tx.update(users).set({ lastSeenAt: usedAt }).where(eq(users.id, id))
    }
    return reached
  }

  /** When each user's devices were last used or signed in, for the ids after `after` and up to `last`. */
  async function readLastUse(tx: Tx, after: string, last: string): Promise<Map<string, Date>> {
    const found = new Map<string, Date>()
    for (const { table, at } of [
      { table: knownDevices, at: knownDevices.seenAt },
      { table: sessions, at: sessions.lastUsedAt },
    ]) {
      const rows = await tx
        .select({ id: table.userId, at: max(at) })
        .from(table)
        .where(and(gt(table.userId, after), lte(table.userId, last)))
        .groupBy(table.userId)
      for (const { id, at } of rows) {
        if (at !== null && at > (found.get(id) ?? new Date(0))) found.set(id, at)
      }
    }
    return found
  }
}

/** The number of a day (UTC) since 1970. */
function toDay(time: Date): number {
  return Math.floor(time.getTime() / DAY_MS)
}
