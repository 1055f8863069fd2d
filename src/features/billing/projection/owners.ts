import { eq, sql } from 'drizzle-orm'
import type { Tx } from '../../../platform/db/db.ts'
import { prepareRemove } from '../../../platform/db/prepared.ts'
import type { EventLog } from '../inbox/event-log.ts'
import type { OrderedEvent } from '../purchases/event-order.ts'
import { computeOwners, NO_CUSTOMER, type OwnerMention } from '../purchases/ownership.ts'
import type { BillingDb } from '../schema.ts'
import type { Checkpoints } from './checkpoints.ts'
import type { Customers } from './customers.ts'
import { findMention, readPurchase, type StoredPurchase } from './fold-state.ts'
import type { ProjectionQueries } from './queries.ts'

type OwnersDeps = {
  db: BillingDb
  eventLog: EventLog
  checkpoints: Checkpoints
  customers: Customers
  queries: ProjectionQueries
  onChange: (tx: Tx, customerId: string) => void
  /** Called with each purchase that was folded again or may have a new owner. */
  onAssigned: (tx: Tx, purchaseKey: string) => Promise<void>
}

export type Owners = ReturnType<typeof createOwners>

/** Lookups that several purchases share, valid until ids are joined. */
export type LookupCache = { customers: Map<string, string>; transfers: Map<string, OrderedEvent> }

export function createLookupCache(): LookupCache {
  return { customers: new Map(), transfers: new Map() }
}

export function createOwners(deps: OwnersDeps) {
  const { db, eventLog, checkpoints, queries, onChange, onAssigned } = deps
  const { findCustomers } = deps.customers
  const { purchaseOwners } = db.tables
  const { findPurchase, updatePurchase, insertOwner, findTransfersFrom } = queries
  const findOwners = db.prepareWrite((tx) =>
    tx
      .select()
      .from(purchaseOwners)
      .where(eq(purchaseOwners.purchaseKey, sql.placeholder('purchaseKey'))),
  )
  const removeOwners = prepareRemove(db, purchaseOwners, 'purchaseKey')
  return { assign }

  /** Finds and stores the owner of a purchase. Its state must be complete. */
  async function assign(tx: Tx, purchaseKey: string, cache = createLookupCache()) {
    const row = await findPurchase(tx, { purchaseKey })
    if (!row) return
    await onAssigned(tx, purchaseKey)
    const owners = await replayOwners(tx, purchaseKey, row.state, cache)
    await storeOwners(tx, purchaseKey, new Set(owners))
    const customerId = owners.at(-1) ?? NO_CUSTOMER
    for (const id of new Set([row.customerId, customerId])) onChange(tx, id)
    if (customerId === row.customerId) return
    await updatePurchase(tx, { purchaseKey }, { customerId })
  }

  async function storeOwners(tx: Tx, purchaseKey: string, owners: Set<string>) {
    const known = await findOwners(tx).execute({ purchaseKey })
    const isSame =
      known.length === owners.size && known.every(({ customerId }) => owners.has(customerId))
    if (isSame) return
    await removeOwners(tx, { purchaseKey })
    for (const customerId of owners) await insertOwner(tx, { purchaseKey, customerId })
  }

  /** Repeats until all transfers from owners are included, because each may add an owner. */
  async function replayOwners(
    tx: Tx,
    purchaseKey: string,
    state: StoredPurchase,
    cache: LookupCache,
  ) {
    const mentions = await checkpoints.listMentions(tx, purchaseKey, state)
    const { environment, grant } = readPurchase(state)
    const traits = { environment, store: state.store ?? null, isGrant: grant !== null }
    const { customers } = cache
    await loadCustomers(
      tx,
      customers,
      mentions.map(({ name }) => name),
    )
    const transfers = new Map<string, OrderedEvent>()
    const laterMentions: OwnerMention[] = []
    for (;;) {
      const allMentions = [...mentions, ...laterMentions]
      const owners = computeOwners(allMentions, [...transfers.values()], traits, (id) => {
        return customers.get(id) ?? id
      })
      const newTransfers = await findNewTransfers(tx, owners, transfers, cache)
      if (newTransfers.length === 0) return owners
      const added = newTransfers.map(([, transfer]) => transfer)
      for (const [eventRow, transfer] of newTransfers) transfers.set(eventRow, transfer)
      const next = (await eventLog.firstAfterEach(tx, purchaseKey, added)).flatMap(
        (event) => findMention(event) ?? [],
      )
      laterMentions.push(...next)
      await loadCustomers(tx, customers, [
        ...next.map(({ name }) => name),
        ...added.flatMap(({ transferredFrom, transferredTo }) =>
          transferredFrom.concat(transferredTo),
        ),
      ])
    }
  }

  async function findNewTransfers(
    tx: Tx,
    owners: string[],
    known: Map<string, OrderedEvent>,
    cache: LookupCache,
  ) {
    const rows = new Set<string>()
    for (const customerId of new Set(owners)) {
      for (const { eventRow } of await findTransfersFrom(tx).execute({ customerId })) {
        if (!known.has(eventRow)) rows.add(eventRow)
      }
    }
    const missing = [...rows].filter((row) => !cache.transfers.has(row))
    for (const [row, event] of await eventLog.eventsByRowId(tx, missing))
      cache.transfers.set(row, event)
    return [...rows].flatMap((row): [string, OrderedEvent][] => {
      const event = cache.transfers.get(row)
      return event ? [[row, event]] : []
    })
  }

  async function loadCustomers(tx: Tx, customers: Map<string, string>, ids: string[]) {
    const missing = [...new Set(ids)].filter((id) => !customers.has(id))
    if (missing.length === 0) return
    for (const [id, customerId] of await findCustomers(tx, missing)) customers.set(id, customerId)
  }
}
