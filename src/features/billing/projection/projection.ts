import { inArray } from 'drizzle-orm'
import { yieldToEventLoop } from '../../../lib/concurrency/yield-to-event-loop.ts'
import type { Tx } from '../../../platform/db/db.ts'
import type { EventLog } from '../inbox/event-log.ts'
import { findPurchaseKey, linkedIds, type OrderedEvent } from '../purchases/event-order.ts'
import { findOwnerId } from '../purchases/ownership.ts'
import type { Purchase } from '../purchases/purchase.ts'
import type { BillingDb } from '../schema.ts'
import { createCheckpoints, type FoldingSizes } from './checkpoints.ts'
import { createCustomers } from './customers.ts'
import { type FoldState, fromStored, readPurchase, toRow, toStored } from './fold-state.ts'
import { createOwners } from './owners.ts'
import { PURCHASES_PER_PAGE, prepareQueries } from './queries.ts'
import { createStaleWork } from './stale-work.ts'

export type KeyedPurchase = Purchase & { purchaseKey: string }

export type Projection = ReturnType<typeof createProjection>

type ProjectionDeps = {
  db: BillingDb
  eventLog: EventLog
  /** Called with each customer whose ids or purchases have changed; `ids`: all ids of the customer, if known. */
  onChange: (tx: Tx, customerId: string, ids?: string[]) => void
  /** Called with each purchase that has changed. */
  onPurchase: (tx: Tx, purchaseKey: string, purchase: Purchase) => Promise<void>
  /** Called with each purchase that was folded again or may have a new owner. */
  onAssigned: (tx: Tx, purchaseKey: string) => Promise<void>
  sizes?: FoldingSizes
}

const DEFAULT_SIZES = { checkpointEvery: 64, sliceEvents: 256, maxReplayed: 32 }

/** Derives customers, purchases and owners in transactions, one slice each; `runSlice` continues with what is left. */
export function createProjection(deps: ProjectionDeps) {
  const { db, eventLog, onChange, onPurchase, onAssigned, sizes = DEFAULT_SIZES } = deps
  const { billingAliases, purchaseOwners, transferIds } = db.tables
  const queries = prepareQueries(db)
  const { findTarget, insertNewAlias, insertOwner, insertPurchase, updatePurchase } = queries
  const checkpoints = createCheckpoints({ db, eventLog, queries, onPurchase, sizes })
  const customers = createCustomers({ db, queries, onChange })
  const owners = createOwners({
    db,
    eventLog,
    checkpoints,
    customers,
    queries,
    onChange,
    onAssigned,
  })
  const stale = createStaleWork({ db, checkpoints, owners, queries, sizes })
  const { restart, runSlice } = stale
  return { apply, relink, listPurchases, restart, runSlice }

  /** Only a new event (`isNew`) may be appended. Returns whether work is left. */
  async function apply(tx: Tx, event: OrderedEvent, eventRow: string, isNew: boolean) {
    const key = findPurchaseKey(event)
    // Most events name a single known id, so there is nothing to link.
    const [id, ...otherIds] = linkedIds(event)
    const mayAppend = isNew && key !== null && id !== undefined && otherIds.length === 0
    if (mayAppend && (await appendToNew(tx, key, event, id))) return false
    if (mayAppend && (await append(tx, key, event))) return false
    const merged = await customers.link(tx, event)
    if (event.type === 'TRANSFER') return applyTransfer(tx, event, eventRow)
    const isAppended = key === null || (isNew && (await append(tx, key, event)))
    const hasMore = !isAppended && (await stale.insertLate(tx, key, event))
    return (merged.length > 0 && (await stale.reassign(tx, merged))) || hasMore
  }

  /** Applies only the identities and the transfer of an event. Returns whether work is left. */
  async function relink(tx: Tx, event: OrderedEvent, eventRow: string): Promise<boolean> {
    if (event.type === 'TRANSFER') return apply(tx, event, eventRow, false)
    return stale.reassign(tx, await customers.link(tx, event))
  }

  /** A customer's purchases in one environment, as of the last commit. Yields to the event loop after each page. */
  async function listPurchases(customerId: string, environment: string): Promise<KeyedPurchase[]> {
    const purchases: KeyedPurchase[] = []
    for (let after = ''; ; ) {
      const rows = await queries.readPurchases.execute({ customerId, environment, after })
      for (const { state, purchaseKey } of rows)
        purchases.push({ ...readPurchase(state), purchaseKey })
      const last = rows.at(-1)
      if (!last || rows.length < PURCHASES_PER_PAGE) return purchases
      after = last.purchaseKey
      await yieldToEventLoop()
    }
  }

  /**
   * The fast path: the event is last, or overridden by the last, and no transfer ever moved a purchase from the
   * customer. Otherwise returns false and stores nothing.
   */
  async function append(tx: Tx, key: string, event: OrderedEvent): Promise<boolean> {
    const name = findOwnerId(event)
    if (name === null) return false
    const [target] = await findTarget(tx).execute({ id: name, purchaseKey: key })
    if (!target) return false
    const { customerId, ownerId } = target
    const state = target.state ?? null
    const before = state && fromStored(state)
    const exists = ownerId !== null
    if (exists && (before === null || state?.stale || ownerId !== customerId)) return false
    // A transfer may have moved the purchase: finding its owner requires replaying all transfers.
    if (target.hasTransfers) return false
    const folded = await checkpoints.append(tx, key, before, event)
    if (folded === null) return false
    onChange(tx, customerId)
    if (!exists) return insertNew(tx, key, customerId, event, folded)
    await updatePurchase(tx, { purchaseKey: key }, toRow(toStored(folded)))
    await onPurchase(tx, key, folded.purchase)
    return true
  }

  /**
   * For an id that no event has named. Writes before it reads, because PostgreSQL sees a conflict in every lookup of a
   * missing row.
   */
  async function appendToNew(tx: Tx, key: string, event: OrderedEvent, id: string) {
    if (!(await insertNewAlias(tx, { appUserId: id, customerId: id }))) return false
    const folded = await checkpoints.append(tx, key, null, event)
    const isDone =
      folded !== null && findOwnerId(event) === id && (await insertNew(tx, key, id, event, folded))
    onChange(tx, id, isDone ? [id] : undefined)
    return isDone
  }

  /** False if the purchase already exists. */
  async function insertNew(
    tx: Tx,
    purchaseKey: string,
    customerId: string,
    { environment }: OrderedEvent,
    folded: FoldState,
  ): Promise<boolean> {
    const values = { purchaseKey, customerId, environment, ...toRow(toStored(folded)) }
    if (!(await insertPurchase(tx, values))) return false
    await insertOwner(tx, { purchaseKey, customerId })
    await onPurchase(tx, purchaseKey, folded.purchase)
    return true
  }

  async function applyTransfer(tx: Tx, event: OrderedEvent, eventRow: string) {
    const { transferredFrom, transferredTo } = event
    const owners = await customers.findCustomers(tx, [...transferredFrom, ...transferredTo])
    const aliases = [...owners].map(([appUserId, customerId]) => ({ appUserId, customerId }))
    if (aliases.length === 0) return false
    // An id that only transfers name is a customer too.
    await tx.insert(billingAliases).values(aliases).onConflictDoNothing()
    const toRows = (ids: string[], isSource: boolean) =>
      ids.map((appUserId) => {
        return { appUserId, customerId: owners.get(appUserId) ?? appUserId, eventRow, isSource }
      })
    await tx
      .insert(transferIds)
      .values([...toRows(transferredFrom, true), ...toRows(transferredTo, false)])
      .onConflictDoNothing()
    const sources = transferredFrom.map((id) => owners.get(id) ?? id)
    const { customerId } = purchaseOwners
    const owning = await tx
      .selectDistinct({ customerId })
      .from(purchaseOwners)
      .where(inArray(customerId, sources))
    return stale.reassign(tx, owning.map((row) => row.customerId).toSorted())
  }
}
