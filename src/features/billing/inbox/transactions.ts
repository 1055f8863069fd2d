import { asc, eq, gt } from 'drizzle-orm'
import { backfill, createCursor } from '../../../platform/db/batched-changes.ts'
import type { Tx } from '../../../platform/db/db.ts'
import { beginsWith } from '../../../platform/db/key-ranges.ts'
import { prepareInsertNew } from '../../../platform/db/prepared.ts'
import { listKeys, parseTransactionId } from '../purchases/purchase-key.ts'
import type { BillingDb } from '../schema.ts'
import type { EventLog } from './event-log.ts'

export type Transactions = ReturnType<typeof createTransactions>

/** Each renewal has its own transaction id; the purchase's key has only the id of the first transaction. */
type Entry = { transactionId: string | null; purchaseKey: string }
type EventRow = { provider: string; body: Uint8Array; purchaseKey: string | null }

const ROWS_PER_CHANGE = 200
const MAX_FOUND = 50

export function createTransactions(db: BillingDb, eventLog: Pick<EventLog, 'readEvent'>) {
  const { purchaseTransactions, billingEvents, reconciliation } = db.tables
  const insert = prepareInsertNew(db, purchaseTransactions)
  return { add, addAll, listPossibleKeys, keysBeginningWith, backfill: backfillAll }

  /** Adds nothing if the purchase's key has the same id. */
  async function add(tx: Tx, { transactionId, purchaseKey }: Entry) {
    if (transactionId !== null && lacksTransaction(purchaseKey, transactionId))
      await insert(tx, { transactionId, purchaseKey })
  }

  async function addAll(tx: Tx, rows: EventRow[]) {
    const entries = rows.flatMap(({ provider, body, purchaseKey }) => {
      const id = purchaseKey === null ? null : eventLog.readEvent(provider, body)?.transactionId
      const isNew = id && purchaseKey !== null && lacksTransaction(purchaseKey, id)
      return isNew ? [{ transactionId: id, purchaseKey }] : []
    })
    if (entries.length === 0) return
    await tx.insert(purchaseTransactions).values(entries).onConflictDoNothing()
  }

  /** The keys that a purchase with this transaction id may have, and those of purchases with a renewal of this id. */
  async function listPossibleKeys(text: string): Promise<string[]> {
    const rows = await db.read
      .select()
      .from(purchaseTransactions)
      .where(eq(purchaseTransactions.transactionId, parseTransactionId(text)))
      .limit(MAX_FOUND)
    return [...listKeys(text), ...rows.map(({ purchaseKey }) => purchaseKey)]
  }

  async function keysBeginningWith(text: string): Promise<string[]> {
    const { transactionId } = purchaseTransactions
    const rows = await db.read
      .select()
      .from(purchaseTransactions)
      .where(beginsWith(transactionId, parseTransactionId(text)))
      .orderBy(asc(transactionId))
      .limit(MAX_FOUND)
    return rows.map(({ purchaseKey }) => purchaseKey)
  }

  /** Adds rows from before this table existed. */
  async function backfillAll(signal: AbortSignal) {
    await backfill(db, createCursor(db, reconciliation, 'transactions'), addAfter, signal)
  }

  async function addAfter(tx: Tx, after: string) {
    const rows = await tx
      .select({
        id: billingEvents.id,
        provider: billingEvents.provider,
        body: billingEvents.body,
        purchaseKey: billingEvents.purchaseKey,
      })
      .from(billingEvents)
      .where(gt(billingEvents.id, after))
      .orderBy(asc(billingEvents.id))
      .limit(ROWS_PER_CHANGE)
    await addAll(tx, rows)
    return rows.at(-1)?.id
  }
}

function lacksTransaction(purchaseKey: string, transactionId: string | null): boolean {
  return transactionId !== null && !purchaseKey.endsWith(`|${transactionId}`)
}
