import { and, asc, gt, inArray, isNotNull } from 'drizzle-orm'
import type { Reader, Tx } from '../../../platform/db/db.ts'
import { effective } from '../inbox/event-log.ts'
import type { BillingDb } from '../schema.ts'
import type { FoldedLine } from './folding.ts'
import type { Projection } from './projection.ts'

type RebuildReport = {
  events: number
  lines: number
  /** Up to 100 lines whose state was different before. */
  changed: string[]
  seconds: number
}

export type Rebuild = ReturnType<typeof createRebuild>

/** Small, so that others write between two batches; a batch also ends after so many ms. */
const BATCH = 100
const BATCH_TIME = 6
const CHANGES_LISTED = 100

type Row = { customerId: string; state: unknown }

/**
 * Folds the whole log again while the server runs: first who is who, then line by line. Each batch is one
 * change, so that nobody loses access for a moment; what it holds in memory does not grow with the log.
 */
export function createRebuild({ db, projection }: { db: BillingDb; projection: Projection }) {
  const { billingEvents, subscriptions } = db.tables
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
          const event = effective(row)
          if (event) await projection.relink(tx, event, row.id)
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
      let keys = rows.flatMap(({ lineKey }) => lineKey ?? [])
      if (keys.length === 0) break
      lines += keys.length
      after = keys.at(-1) ?? after
      while (keys.length > 0) {
        const { done, before } = await db.write((tx) => restartSome(tx, keys))
        // Long lines go on in slices.
        while (await db.write(projection.runSlice));
        changed.push(...(await changedSince(before, done)))
        keys = keys.slice(done.length)
      }
    }
    return { lines, changed }
  }

  /** As many lines as a batch has time for. */
  async function restartSome(tx: Tx, keys: string[]) {
    const deadline = performance.now() + BATCH_TIME
    const before = await stored(tx, keys)
    const done: string[] = []
    for (const key of keys) {
      if (done.length > 0 && performance.now() > deadline) break
      await projection.restart(tx, [key])
      done.push(key)
    }
    return { done, before }
  }

  async function changedSince(before: Map<string, Row>, keys: string[]): Promise<string[]> {
    const after = await stored(db.read, keys)
    return keys.filter((key) => !isSame(before.get(key), after.get(key)))
  }

  async function stored(from: Reader, keys: string[]): Promise<Map<string, Row>> {
    const rows = await from.select().from(subscriptions).where(inArray(subscriptions.lineKey, keys))
    return new Map(rows.map((row) => [row.lineKey, row]))
  }
}

function isSame(before: Row | undefined, after: Row | undefined): boolean {
  if (!before || !after || before.customerId !== after.customerId) return false
  return essence(before) === essence(after)
}

/** Without the store: states of older programs lack it, which is no difference in access. */
function essence({ state }: Row): string {
  const { line, last } = state as FoldedLine
  return JSON.stringify([line, last])
}
