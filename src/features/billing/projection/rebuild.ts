import { and, asc, eq, gt, inArray, isNotNull } from 'drizzle-orm'
import type { Reader, Tx } from '../../../platform/db/db.ts'
import type { Counting } from '../business/counting.ts'
import type { EventLog } from '../inbox/event-log.ts'
import type { Transactions } from '../inbox/transactions.ts'
import { computeOrderingTime, findPurchaseKey } from '../purchases/event-order.ts'
import type { BillingDb } from '../schema.ts'
import type { StoredPurchase } from './fold-state.ts'
import type { Projection } from './projection.ts'

type RebuildDeps = {
  db: BillingDb
  eventLog: Pick<EventLog, 'readRow'>
  projection: Projection
  transactions: Pick<Transactions, 'addAll'>
  counting: Pick<Counting, 'rebuild'>
}

type RebuildReport = {
  events: number
  lines: number
  /** Up to 100 keys of purchases whose state has changed. */
  changed: string[]
  seconds: number
}

export type Rebuild = ReturnType<typeof createRebuild>

/** Small, so that other transactions run between two batches. */
const BATCH_ROWS = 100
const BATCH_MS = 6
const MAX_CHANGES_LISTED = 100

type EventRow = BillingDb['tables']['billingEvents']['$inferSelect']
type Row = { customerId: string; state: StoredPurchase }

/**
 * Folds the log again: customers, purchases, business figures. Batches are transactions, so no user loses access;
 * memory does not grow with the log.
 */
export function createRebuild(deps: RebuildDeps) {
  const { db, eventLog, projection, transactions, counting } = deps
  const { billingEvents, subscriptions } = db.tables
  const { purchaseOwners, purchaseCheckpoints, purchaseTransactions } = db.tables
  return async function rebuild(signal: AbortSignal): Promise<RebuildReport> {
    const start = performance.now()
    const events = await relink(signal)
    const { count, changed } = await refoldAll(signal)
    await counting.rebuild(signal)
    const seconds = Math.round(performance.now() - start) / 1000
    return { events, lines: count, changed: changed.slice(0, MAX_CHANGES_LISTED), seconds }
  }

  async function relink(signal: AbortSignal): Promise<number> {
    let count = 0
    for (let after = ''; !signal.aborted; ) {
      const rows = await db.read
        .select()
        .from(billingEvents)
        .where(gt(billingEvents.id, after))
        .orderBy(asc(billingEvents.id))
        .limit(BATCH_ROWS)
      const last = rows.at(-1)
      if (!last) break
      after = last.id
      count += rows.length
      await db.write(async (tx) => {
        const ordered: EventRow[] = []
        for (const row of rows) ordered.push(await readAgain(tx, row))
        await transactions.addAll(tx, ordered)
        for (const row of ordered) {
          const event = eventLog.readRow(row)
          if (event) await projection.relink(tx, event, row.id)
        }
      })
    }
    return count
  }

  /** Updates the stored fields to what the current code reads. */
  async function readAgain(tx: Tx, row: EventRow): Promise<EventRow> {
    const event = eventLog.readRow(row)
    if (!event) return row
    const time = row.orderedAt === 0 ? computeOrderingTime(event, row.receivedAt.getTime()) : {}
    // An event without effect stays with its purchase, which may have been folded from it.
    const purchaseKey = findPurchaseKey(event) ?? row.purchaseKey
    const { appUserId } = event
    const isSame = purchaseKey === row.purchaseKey && appUserId === row.appUserId
    if (row.orderedAt !== 0 && isSame) return row
    const found = { ...time, purchaseKey, appUserId }
    await tx.update(billingEvents).set(found).where(eq(billingEvents.id, row.id))
    if (row.purchaseKey !== null && row.purchaseKey !== purchaseKey)
      await removeWithoutEvents(tx, row.purchaseKey)
    return { ...row, ...found }
  }

  /** Removes a purchase if the current code assigns all its events to other purchases. */
  async function removeWithoutEvents(tx: Tx, key: string) {
    const [event] = await tx
      .select({ id: billingEvents.id })
      .from(billingEvents)
      .where(eq(billingEvents.purchaseKey, key))
      .limit(1)
    if (event) return
    for (const table of [subscriptions, purchaseOwners, purchaseCheckpoints, purchaseTransactions])
      await tx.delete(table).where(eq(table.purchaseKey, key))
  }

  async function refoldAll(signal: AbortSignal) {
    const changed: string[] = []
    let count = 0
    for (let after = ''; !signal.aborted; ) {
      const rows = await db.read
        .selectDistinct({ purchaseKey: billingEvents.purchaseKey })
        .from(billingEvents)
        .where(and(isNotNull(billingEvents.purchaseKey), gt(billingEvents.purchaseKey, after)))
        .orderBy(asc(billingEvents.purchaseKey))
        .limit(BATCH_ROWS)
      let keys = rows.flatMap(({ purchaseKey }) => purchaseKey ?? [])
      if (keys.length === 0) break
      count += keys.length
      after = keys.at(-1) ?? after
      while (keys.length > 0) {
        const { restartedKeys, before } = await db.write((tx) => restartSome(tx, keys))
        // Purchases with many events need more slices.
        while (await db.write(projection.runSlice));
        changed.push(...(await changedSince(before, restartedKeys)))
        keys = keys.slice(restartedKeys.length)
      }
    }
    return { count, changed }
  }

  async function restartSome(tx: Tx, keys: string[]) {
    const deadline = performance.now() + BATCH_MS
    const before = await readStored(tx, keys)
    const restartedKeys: string[] = []
    for (const key of keys) {
      if (restartedKeys.length > 0 && performance.now() > deadline) break
      await projection.restart(tx, [key])
      restartedKeys.push(key)
    }
    return { restartedKeys, before }
  }

  async function changedSince(before: Map<string, Row>, keys: string[]): Promise<string[]> {
    const after = await readStored(db.read, keys)
    return keys.filter((key) => !isSame(before.get(key), after.get(key)))
  }

  async function readStored(from: Reader, keys: string[]): Promise<Map<string, Row>> {
    const rows = await from
      .select()
      .from(subscriptions)
      .where(inArray(subscriptions.purchaseKey, keys))
    return new Map(rows.map((row) => [row.purchaseKey, row]))
  }
}

function isSame(before: Row | undefined, after: Row | undefined): boolean {
  if (!before || !after || before.customerId !== after.customerId) return false
  return comparableState(before) === comparableState(after)
}

/** Leaves out the store, which older states lack and access does not depend on. */
function comparableState({ state }: Row): string {
  const { line, last } = state
  return JSON.stringify([line, last])
}
