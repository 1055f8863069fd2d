import { and, asc, gt, isNotNull } from 'drizzle-orm'
import type { Db } from '../../db/open.ts'
import { ordered, type Projection } from './projection.ts'

export type RebuildReport = {
  events: number
  lines: number
  /** The lines whose state was another one before. */
  changed: string[]
  seconds: number
}

/** Small, so that others write between two batches. */
const BATCH = 100
const CHANGES_LISTED = 100

/**
 * Folds the whole log again while the server runs: first who is who, then line by line. Each batch is one
 * change, so that nobody loses access for a moment; what it holds in memory does not grow with the log.
 */
export function createRebuild({ db, projection }: { db: Db; projection: Projection }) {
  const { billingEvents } = db.tables
  return async function rebuild(signal: AbortSignal): Promise<RebuildReport> {
    const start = performance.now()
    const events = await relink(signal)
    const { lines, changed } = await refoldAll(signal)
    const seconds = Math.round(performance.now() - start) / 1000
    return { events, lines, changed: changed.slice(0, CHANGES_LISTED), seconds }
  }

  async function relink(signal: AbortSignal): Promise<number> {
    let count = 0
    for (let after = ''; !signal.aborted; ) {
      const rows = await db.read
        .select()
        .from(billingEvents)
        .where(gt(billingEvents.id, after))
        .orderBy(asc(billingEvents.id))
        .limit(BATCH)
      const last = rows.at(-1)
      if (!last) break
      after = last.id
      count += rows.length
      await db.write(async (tx) => {
        for (const row of rows) {
          const event = row.outcome === 'ignored' ? null : ordered(row)
          if (event?.type === 'TRANSFER') await projection.apply(tx, event, row.id)
          else if (event)
            for (const key of await projection.link(tx, event)) await projection.refold(tx, key)
        }
      })
    }
    return count
  }

  async function refoldAll(signal: AbortSignal) {
    const changed: string[] = []
    let lines = 0
    for (let after = ''; !signal.aborted; ) {
      const rows = await db.read
        .selectDistinct({ lineKey: billingEvents.lineKey })
        .from(billingEvents)
        .where(and(isNotNull(billingEvents.lineKey), gt(billingEvents.lineKey, after)))
        .orderBy(asc(billingEvents.lineKey))
        .limit(BATCH)
      if (rows.length === 0) break
      lines += rows.length
      await db.write(async (tx) => {
        for (const { lineKey } of rows) {
          after = lineKey ?? after
          if (lineKey && (await projection.refold(tx, lineKey))) changed.push(lineKey)
        }
      })
    }
    return { lines, changed }
  }
}
