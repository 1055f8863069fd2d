import type { Tx } from '../../../platform/db/db.ts'
import type { EventLog } from '../inbox/event-log.ts'
import { lineKeyOf, type OrderedEvent } from '../lines/event-order.ts'
import { idsJoinedBy } from '../lines/identities.ts'
import type { Line } from '../lines/line.ts'
import type { BillingDb } from '../schema.ts'
import { createCustomers } from './customers.ts'
import { type FoldedLine, fromStored, lineIn, nameIn, toStored } from './folding.ts'
import { createLineFolding, type FoldingSizes } from './line-folding.ts'
import { createOwners } from './owners.ts'
import { prepareQueries } from './queries.ts'
import { createStaleWork } from './stale-work.ts'

export type Projection = ReturnType<typeof createProjection>

type ProjectionDeps = { db: BillingDb; eventLog: EventLog; sizes?: FoldingSizes }

const SIZES = { checkpointEvery: 64, sliceEvents: 256 }

/**
 * Keeps the subscription state in step with the log. Every function but `linesOf` runs inside a change, and
 * does so much at once as a slice holds; what is left is noted in the database and done by `runSlice`.
 */
export function createProjection({ db, eventLog, sizes = SIZES }: ProjectionDeps) {
  const { billingAliases, transferIds } = db.tables
  const queries = prepareQueries(db)
  const { findTarget, findTransfersFrom, storeHolder, insertLine, updateState, readLines } = queries
  const lineFolding = createLineFolding({ db, eventLog, queries, sizes })
  const customers = createCustomers({ db, queries })
  const owners = createOwners({ db, eventLog, lineFolding, customers, queries })
  const stale = createStaleWork({ db, lineFolding, owners, queries })
  const { restart, runSlice } = stale
  return { appendAlone, apply, relink, linesOf, restart, runSlice }

  /**
   * The most common case of `apply`: a new event that names one known id and does not need its line to be
   * folded again. False when it is another one; nothing was done then.
   */
  async function appendAlone(tx: Tx, event: OrderedEvent): Promise<boolean> {
    const key = event.type === 'TRANSFER' ? null : lineKeyOf(event)
    return key !== null && idsJoinedBy(event).length === 1 && append(tx, key, event)
  }

  /**
   * Takes an event of the log in: who is who, whose is what, and the line it speaks of. One that `isNew`
   * may be added to its line as it stands. Returns whether work is left.
   */
  async function apply(tx: Tx, event: OrderedEvent, eventRow: string, isNew: boolean) {
    const merged = await customers.link(tx, event)
    if (event.type === 'TRANSFER') return applyTransfer(tx, event, eventRow)
    const key = lineKeyOf(event)
    const isAppended = key === null || (isNew && (await append(tx, key, event)))
    const hasMore = !isAppended && (await stale.insertLate(tx, key, event))
    return (merged.length > 0 && (await stale.reassign(tx, merged))) || hasMore
  }

  /**
   * Takes from an event that was taken in before only who is who, and whose is what by a transfer. Returns
   * whether work is left.
   */
  async function relink(tx: Tx, event: OrderedEvent, eventRow: string): Promise<boolean> {
    if (event.type === 'TRANSFER') return apply(tx, event, eventRow, false)
    return stale.reassign(tx, await customers.link(tx, event))
  }

  /** The lines that a customer holds, in one environment, as of the last commit. Many are read in several turns of the loop. */
  async function linesOf(customerId: string, environment: string): Promise<Line[]> {
    const lines: Line[] = []
    for (let after = ''; ; ) {
      const rows = await readLines.execute({ customerId, environment, after })
      const last = rows.at(-1)
      if (!last) return lines
      for (const { state } of rows) lines.push(lineIn(state as FoldedLine))
      after = last.lineKey
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  /**
   * The common case: the event is the latest of its line, or comes under the purchase that is, and no transfer
   * ever touched its customer. Then one step more is the same fold. False when it is not that simple.
   */
  async function append(tx: Tx, key: string, event: OrderedEvent): Promise<boolean> {
    const name = nameIn(event)
    if (name === null) return false
    const [target] = await findTarget(tx).execute({ id: name, lineKey: key })
    if (!target) return false
    const { customerId, holderId } = target
    const state = (target.state ?? null) as FoldedLine | null
    const before = state && fromStored(state)
    const isThere = holderId !== null
    if (isThere && (before === null || state?.stale || holderId !== customerId)) return false
    // A transfer may have taken the line away: then its owner is found by replaying all.
    if ((await findTransfersFrom(tx).execute({ customerId })).length > 0) return false
    const folded = await lineFolding.added(tx, key, before, event)
    if (folded === null) return false
    const after = toStored(folded)
    if (isThere) {
      await updateState(tx).execute({ lineKey: key, state: after })
    } else {
      await storeHolder(tx).execute({ lineKey: key, customerId })
      const { environment } = event
      await insertLine(tx).execute({ lineKey: key, customerId, environment, state: after })
    }
    return true
  }

  async function applyTransfer(tx: Tx, event: OrderedEvent, eventRow: string) {
    const { transferredFrom, transferredTo } = event
    const owners = await customers.customersOf(tx, [...transferredFrom, ...transferredTo])
    const named = [...owners].map(([appUserId, customerId]) => ({ appUserId, customerId }))
    if (named.length === 0) return false
    // An id that was only ever named by a transfer is a customer too.
    await tx.insert(billingAliases).values(named).onConflictDoNothing()
    const rowsOf = (ids: string[], isSource: boolean) =>
      ids.map((appUserId) => {
        return { appUserId, customerId: owners.get(appUserId) ?? appUserId, eventRow, isSource }
      })
    await tx
      .insert(transferIds)
      .values([...rowsOf(transferredFrom, true), ...rowsOf(transferredTo, false)])
      .onConflictDoNothing()
    return stale.reassign(tx, [...new Set(transferredFrom.map((id) => owners.get(id) ?? id))])
  }
}
