import { and, asc, eq, gt } from 'drizzle-orm'
import type { Tx } from '../../../platform/db/db.ts'
import type { OrderedEvent } from '../lines/event-order.ts'
import { EMPTY_LINE } from '../lines/line.ts'
import type { BillingDb } from '../schema.ts'
import { type FoldedLine, fromStored } from './folding.ts'
import type { Gap, LineFolding } from './line-folding.ts'
import { type Known, nothingKnown, type Owners } from './owners.ts'
import type { ProjectionQueries } from './queries.ts'

type StaleWorkDeps = {
  db: BillingDb
  lineFolding: LineFolding
  owners: Owners
  queries: ProjectionQueries
}

/** How long one slice may hold the loop, in ms, and how many lines find their owner between two looks at the clock. */
const SLICE_TIME = 6
const LINES_AT_ONCE = 16
/** A line that is folded from its first event. */
const FULL_RANGE: Gap = { since: 0, until: Number.MAX_SAFE_INTEGER }

/**
 * What an event sets in motion beyond its own line's last state: lines to be folded again and owners to be
 * found again. What one slice does not get done is kept in the database, and done by later slices.
 */
export function createStaleWork({ db, lineFolding, owners, queries }: StaleWorkDeps) {
  const { subscriptions, staleLines, staleCustomers, lineHolders } = db.tables
  const { findLine, insertLine } = queries
  return { insertLate, restart, reassign, runSlice }

  /** Folds an event into the middle of its line. Returns whether work is left. */
  async function insertLate(tx: Tx, lineKey: string, { orderedAt }: OrderedEvent) {
    const [row] = await findLine(tx).execute({ lineKey })
    const state = row?.state as FoldedLine | undefined
    if (state?.stale) return widen(tx, lineKey, orderedAt)
    if (!row) await insertStub(tx, lineKey)
    // States of older programs do not tell who was named when: such a line is folded whole, once.
    const isWhole = state === undefined || fromStored(state) === null
    return advance(tx, lineKey, isWhole ? FULL_RANGE : { since: orderedAt, until: orderedAt })
  }

  /** Folds lines from their first event, trusting nothing that was derived before. Returns whether work is left. */
  async function restart(tx: Tx, lineKeys: string[]): Promise<boolean> {
    const deadline = performance.now() + SLICE_TIME
    let hasMore = false
    for (const lineKey of lineKeys) {
      await lineFolding.restart(tx, lineKey)
      const [row] = await findLine(tx).execute({ lineKey })
      if (!row) await insertStub(tx, lineKey)
      const isLate = performance.now() > deadline
      if (await (isLate ? markStale : advance)(tx, lineKey, FULL_RANGE)) hasMore = true
    }
    return hasMore
  }

  /** Finds the owners of customers' lines again. Returns whether work is left. */
  async function reassign(tx: Tx, customers: string[]): Promise<boolean> {
    const deadline = performance.now() + SLICE_TIME
    for (const [at, customerId] of customers.entries()) {
      if (performance.now() > deadline) return keepForLater(tx, customers.slice(at), '')
      if (await reassignSome(tx, customerId, '', deadline)) {
        return at + 1 === customers.length || keepForLater(tx, customers.slice(at + 1), '')
      }
    }
    return false
  }

  /** One slice of what is left, wherever it came from. Returns whether there is more. */
  async function runSlice(tx: Tx): Promise<boolean> {
    const deadline = performance.now() + SLICE_TIME
    for (;;) {
      const [line] = await tx.select().from(staleLines).limit(1)
      if (line) await advance(tx, line.lineKey, line)
      else {
        const [customer] = await tx.select().from(staleCustomers).limit(1)
        if (!customer) return false
        const { customerId, afterLine } = customer
        await tx.delete(staleCustomers).where(eq(staleCustomers.customerId, customerId))
        await reassignSome(tx, customerId, afterLine, deadline)
      }
      if (performance.now() > deadline) return true
    }
  }

  async function advance(tx: Tx, lineKey: string, gap: Gap): Promise<boolean> {
    const rest = await lineFolding.refold(tx, lineKey, gap)
    if (rest !== null) return markStale(tx, lineKey, rest)
    await tx.delete(staleLines).where(eq(staleLines.lineKey, lineKey))
    await owners.assign(tx, lineKey)
    return false
  }

  /** One event more that a stale line lacks. */
  async function widen(tx: Tx, lineKey: string, orderedAt: number): Promise<true> {
    const [known = FULL_RANGE] = await tx
      .select()
      .from(staleLines)
      .where(eq(staleLines.lineKey, lineKey))
    const since = Math.min(known.since, orderedAt)
    return markStale(tx, lineKey, { since, until: Math.max(known.until, orderedAt) })
  }

  async function markStale(tx: Tx, lineKey: string, gap: Gap): Promise<true> {
    await tx
      .insert(staleLines)
      .values({ lineKey, ...gap })
      .onConflictDoUpdate({ target: staleLines.lineKey, set: gap })
    const [row] = await findLine(tx).execute({ lineKey })
    const state = row?.state as FoldedLine
    if (state.stale) return true
    await tx
      .update(subscriptions)
      .set({ state: { ...state, stale: true } })
      .where(eq(subscriptions.lineKey, lineKey))
    return true
  }

  /** A line of which nothing is known yet belongs to nobody. */
  async function insertStub(tx: Tx, lineKey: string) {
    const environment = lineKey.slice(0, lineKey.indexOf('|'))
    const state = { line: EMPTY_LINE, last: null, stale: true }
    await insertLine(tx).execute({ lineKey, customerId: '', environment, state })
  }

  /** Until `deadline`, of `performance.now()`; the rest is kept for a later slice. */
  async function reassignSome(tx: Tx, customerId: string, afterLine: string, deadline: number) {
    const looked = nothingKnown()
    for (let after = afterLine; ; ) {
      const rows = await tx
        .selectDistinct({ lineKey: lineHolders.lineKey })
        .from(lineHolders)
        .where(and(eq(lineHolders.customerId, customerId), gt(lineHolders.lineKey, after)))
        .orderBy(asc(lineHolders.lineKey))
        .limit(LINES_AT_ONCE)
      const last = rows.at(-1)
      if (!last) return false
      for (const { lineKey } of rows) await reassignLine(tx, lineKey, looked)
      after = last.lineKey
      if (performance.now() > deadline) return keepForLater(tx, [customerId], after)
    }
  }

  async function reassignLine(tx: Tx, lineKey: string, looked: Known) {
    const [row] = await findLine(tx).execute({ lineKey })
    const state = row?.state as FoldedLine | undefined
    // A stale line finds its owner when it is complete.
    if (!state || state.stale) return
    if (fromStored(state) === null) await advance(tx, lineKey, FULL_RANGE)
    else await owners.assign(tx, lineKey, looked)
  }

  /** Whoever waits already has to be looked at anew from the beginning. */
  async function keepForLater(tx: Tx, customers: string[], afterLine: string): Promise<true> {
    await tx
      .insert(staleCustomers)
      .values(customers.map((customerId) => ({ customerId, afterLine })))
      .onConflictDoUpdate({ target: staleCustomers.customerId, set: { afterLine: '' } })
    return true
  }
}
