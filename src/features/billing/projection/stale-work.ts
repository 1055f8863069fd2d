import { and, asc, eq, gt, sql } from 'drizzle-orm'
import type { Tx } from '../../../platform/db/db.ts'
import { prepareRemove, prepareUpsert } from '../../../platform/db/prepared.ts'
import type { OrderedEvent } from '../purchases/event-order.ts'
import { EMPTY_PURCHASE } from '../purchases/purchase.ts'
import { parsePurchaseKey } from '../purchases/purchase-key.ts'
import type { BillingDb } from '../schema.ts'
import type { Checkpoints, FoldingSizes, Gap } from './checkpoints.ts'
import { fromStored } from './fold-state.ts'
import { createLookupCache, type LookupCache, type Owners } from './owners.ts'
import type { ProjectionQueries } from './queries.ts'

type StaleWorkDeps = {
  db: BillingDb
  checkpoints: Checkpoints
  owners: Owners
  queries: ProjectionQueries
  sizes: FoldingSizes
}

/** How long one slice may block the event loop. */
const SLICE_MS = 6
/** How many purchases are reassigned before the clock is checked; one if the customer has many transfers. */
const PURCHASES_PER_CHECK = 16
const FULL_RANGE: Gap = { since: 0, until: Number.MAX_SAFE_INTEGER }

/** Works in slices; the rest waits in `stalePurchases` and `staleCustomers`. */
export function createStaleWork(deps: StaleWorkDeps) {
  const { db, checkpoints, owners, queries, sizes } = deps
  const { stalePurchases, staleCustomers, purchaseOwners, transferIds } = db.tables
  const { findPurchase, insertPurchase, updatePurchase } = queries
  const findLastReplayed = db.prepareWrite((tx) =>
    tx
      .select({ eventRow: transferIds.eventRow })
      .from(transferIds)
      .where(
        and(
          eq(transferIds.customerId, sql.placeholder('customerId')),
          eq(transferIds.isSource, true),
        ),
      )
      .limit(1)
      .offset(sizes.maxReplayed),
  )
  const storeStale = prepareUpsert(db, stalePurchases)
  const removeStale = prepareRemove(db, stalePurchases, 'purchaseKey')
  return { insertLate, restart, reassign, runSlice }

  /** Folds a late event into its purchase. Returns whether work is left. */
  async function insertLate(tx: Tx, purchaseKey: string, { orderedAt }: OrderedEvent) {
    const row = await findPurchase(tx, { purchaseKey })
    const state = row?.state
    if (state?.stale) return widenGap(tx, purchaseKey, orderedAt)
    if (!row) await insertStub(tx, purchaseKey)
    // States of older versions lack the owner mentions, so such a purchase is folded from its first event.
    const needsFullFold = state === undefined || fromStored(state) === null
    const gap = needsFullFold ? FULL_RANGE : { since: orderedAt, until: orderedAt }
    const isForLater = row !== undefined && (await hasManyTransfers(tx, row.customerId))
    return (isForLater ? markStale : advance)(tx, purchaseKey, gap)
  }

  /** Whether replaying the transfers from a customer takes so long that several events should share the replay. */
  async function hasManyTransfers(tx: Tx, customerId: string): Promise<boolean> {
    return (await findLastReplayed(tx).execute({ customerId })).length > 0
  }

  /** Folds purchases from their first event. Returns whether work is left. */
  async function restart(tx: Tx, purchaseKeys: string[]): Promise<boolean> {
    const deadline = performance.now() + SLICE_MS
    let hasMore = false
    for (const purchaseKey of purchaseKeys) {
      await checkpoints.clear(tx, purchaseKey)
      const row = await findPurchase(tx, { purchaseKey })
      if (!row) await insertStub(tx, purchaseKey)
      const isLate = performance.now() > deadline
      if (await (isLate ? markStale : advance)(tx, purchaseKey, FULL_RANGE)) hasMore = true
    }
    return hasMore
  }

  /** Reassigns the owners of the purchases of `customers`. Returns whether work is left. */
  async function reassign(tx: Tx, customers: string[]): Promise<boolean> {
    const deadline = performance.now() + SLICE_MS
    for (const [at, customerId] of customers.entries()) {
      const isLate = performance.now() > deadline
      if (isLate || (await hasManyTransfers(tx, customerId)))
        return keepForLater(tx, customers.slice(at), '')
      if (await reassignSome(tx, customerId, '', deadline)) {
        return at + 1 === customers.length || keepForLater(tx, customers.slice(at + 1), '')
      }
    }
    return false
  }

  /** Does one slice of the stored work. Returns whether work is left. */
  async function runSlice(tx: Tx): Promise<boolean> {
    const deadline = performance.now() + SLICE_MS
    for (;;) {
      const [purchase] = await tx.select().from(stalePurchases).limit(1)
      if (purchase) await advance(tx, purchase.purchaseKey, purchase)
      else {
        const [customer] = await tx.select().from(staleCustomers).limit(1)
        if (!customer) return false
        const { customerId, afterPurchase } = customer
        await tx.delete(staleCustomers).where(eq(staleCustomers.customerId, customerId))
        await reassignSome(tx, customerId, afterPurchase, deadline)
      }
      if (performance.now() > deadline) return true
    }
  }

  async function advance(tx: Tx, purchaseKey: string, gap: Gap): Promise<boolean> {
    const remaining = await checkpoints.refold(tx, purchaseKey, gap)
    if (remaining !== null) return markStale(tx, purchaseKey, remaining)
    await removeStale(tx, { purchaseKey })
    await owners.assign(tx, purchaseKey)
    return false
  }

  /** Widens the gap of a stale purchase to include an event. */
  async function widenGap(tx: Tx, purchaseKey: string, orderedAt: number): Promise<true> {
    const [known = FULL_RANGE] = await tx
      .select()
      .from(stalePurchases)
      .where(eq(stalePurchases.purchaseKey, purchaseKey))
    const since = Math.min(known.since, orderedAt)
    return markStale(tx, purchaseKey, { since, until: Math.max(known.until, orderedAt) })
  }

  async function markStale(tx: Tx, purchaseKey: string, gap: Gap): Promise<true> {
    await storeStale(tx, { purchaseKey, ...gap })
    const row = await findPurchase(tx, { purchaseKey })
    const state = row?.state
    if (state === undefined || state.stale) return true
    await updatePurchase(tx, { purchaseKey }, { state: { ...state, stale: true } })
    return true
  }

  /** Inserts a row for a purchase that is not folded yet and has no owner. */
  async function insertStub(tx: Tx, purchaseKey: string) {
    const { environment } = parsePurchaseKey(purchaseKey)
    const state = { line: EMPTY_PURCHASE, last: null, stale: true } as const
    await insertPurchase(tx, { purchaseKey, customerId: '', environment, state, latestAt: 0 })
  }

  /** `deadline` is compared with `performance.now()`. */
  async function reassignSome(tx: Tx, customerId: string, afterPurchase: string, deadline: number) {
    const cache = createLookupCache()
    const perCheck = (await hasManyTransfers(tx, customerId)) ? 1 : PURCHASES_PER_CHECK
    for (let after = afterPurchase; ; ) {
      const rows = await tx
        .selectDistinct({ purchaseKey: purchaseOwners.purchaseKey })
        .from(purchaseOwners)
        .where(
          and(eq(purchaseOwners.customerId, customerId), gt(purchaseOwners.purchaseKey, after)),
        )
        .orderBy(asc(purchaseOwners.purchaseKey))
        .limit(perCheck)
      const last = rows.at(-1)
      if (!last) return false
      for (const { purchaseKey } of rows) await reassignPurchase(tx, purchaseKey, cache)
      after = last.purchaseKey
      if (performance.now() > deadline) return keepForLater(tx, [customerId], after)
    }
  }

  async function reassignPurchase(tx: Tx, purchaseKey: string, cache: LookupCache) {
    const row = await findPurchase(tx, { purchaseKey })
    const state = row?.state
    // A stale purchase gets its owner once its fold is complete.
    if (!state || state.stale) return
    if (fromStored(state) === null) await advance(tx, purchaseKey, FULL_RANGE)
    else await owners.assign(tx, purchaseKey, cache)
  }

  /** A customer that is already stored starts again from its first purchase. */
  async function keepForLater(tx: Tx, customers: string[], afterPurchase: string): Promise<true> {
    await tx
      .insert(staleCustomers)
      .values(customers.map((customerId) => ({ customerId, afterPurchase })))
      .onConflictDoUpdate({ target: staleCustomers.customerId, set: { afterPurchase: '' } })
    return true
  }
}
