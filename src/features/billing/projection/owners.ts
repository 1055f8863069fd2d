import { eq, sql } from 'drizzle-orm'
import type { Tx } from '../../../platform/db/db.ts'
import type { EventLog } from '../inbox/event-log.ts'
import type { OrderedEvent } from '../lines/event-order.ts'
import { holdersOf } from '../lines/ownership.ts'
import type { BillingDb } from '../schema.ts'
import type { Customers } from './customers.ts'
import { type FoldedLine, lineIn, type Naming, nameIn } from './folding.ts'
import type { LineFolding } from './line-folding.ts'
import type { ProjectionQueries } from './queries.ts'

type OwnersDeps = {
  db: BillingDb
  eventLog: EventLog
  lineFolding: LineFolding
  customers: Customers
  queries: ProjectionQueries
}

export type Owners = ReturnType<typeof createOwners>

/** What was looked up for one line and holds for the next, as long as no ids are joined. */
export type Known = { customers: Map<string, string>; transfers: Map<string, OrderedEvent> }

export function nothingKnown(): Known {
  return { customers: new Map(), transfers: new Map() }
}

/** Which customer a line belongs to, and which ones have held it. */
export function createOwners(deps: OwnersDeps) {
  const { db, eventLog, lineFolding, queries } = deps
  const { customersOf } = deps.customers
  const { lineHolders, subscriptions } = db.tables
  const { findLine, storeHolder, findTransfersFrom } = queries
  const findHolders = db.prepareWrite((tx) =>
    tx
      .select()
      .from(lineHolders)
      .where(eq(lineHolders.lineKey, sql.placeholder('lineKey'))),
  )
  return { assign }

  /** Finds the owner of a line by replaying all who held it, and stores it. Its state must be complete. */
  async function assign(tx: Tx, lineKey: string, looked = nothingKnown()) {
    const [row] = await findLine(tx).execute({ lineKey })
    if (!row) return
    const { holders, customerId } = await replay(tx, lineKey, row.state as FoldedLine, looked)
    await storeHolders(tx, lineKey, new Set(holders))
    if (customerId === row.customerId) return
    await tx.update(subscriptions).set({ customerId }).where(eq(subscriptions.lineKey, lineKey))
  }

  async function storeHolders(tx: Tx, lineKey: string, holders: Set<string>) {
    const known = await findHolders(tx).execute({ lineKey })
    const isSame =
      known.length === holders.size && known.every((one) => holders.has(one.customerId))
    if (isSame) return
    await tx.delete(lineHolders).where(eq(lineHolders.lineKey, lineKey))
    for (const holder of holders) await storeHolder(tx).execute({ lineKey, customerId: holder })
  }

  /** Each transfer may bring in a holder from whom another transfer takes the line. */
  async function replay(tx: Tx, lineKey: string, state: FoldedLine, looked: Known) {
    const namings = await lineFolding.namingsOf(tx, lineKey, state)
    const traits = { environment: lineIn(state).environment, store: state.store ?? null }
    const { customers } = looked
    const names = namings.map(({ name }) => name)
    await loadCustomers(tx, customers, names)
    const transfers = new Map<string, OrderedEvent>()
    const followers: Naming[] = []
    for (;;) {
      const steps = [...namings, ...followers]
      const holders = holdersOf(steps, [...transfers.values()], traits, (id) => {
        return customers.get(id) ?? id
      })
      const newTransfers = await unknownTransfers(tx, holders, transfers, looked)
      if (newTransfers.length === 0) return { holders, customerId: holders.at(-1) ?? '' }
      const added = newTransfers.map(([, transfer]) => transfer)
      for (const [eventRow, transfer] of newTransfers) transfers.set(eventRow, transfer)
      const next = (await eventLog.firstAfterEach(tx, lineKey, added)).flatMap(naming)
      followers.push(...next)
      await loadCustomers(tx, customers, [
        ...next.map(({ name }) => name),
        ...added.flatMap(({ transferredFrom, transferredTo }) =>
          transferredFrom.concat(transferredTo),
        ),
      ])
    }
  }

  async function unknownTransfers(
    tx: Tx,
    holders: string[],
    ofLine: Map<string, OrderedEvent>,
    looked: Known,
  ) {
    const rows = new Set<string>()
    for (const customerId of new Set(holders)) {
      for (const { eventRow } of await findTransfersFrom(tx).execute({ customerId })) {
        if (!ofLine.has(eventRow)) rows.add(eventRow)
      }
    }
    const missing = [...rows].filter((row) => !looked.transfers.has(row))
    for (const [row, event] of await eventLog.eventsIn(tx, missing))
      looked.transfers.set(row, event)
    return [...rows].flatMap((row): [string, OrderedEvent][] => {
      const event = looked.transfers.get(row)
      return event ? [[row, event]] : []
    })
  }

  async function loadCustomers(tx: Tx, customers: Map<string, string>, ids: string[]) {
    const missing = [...new Set(ids)].filter((id) => !customers.has(id))
    if (missing.length === 0) return
    for (const [id, customerId] of await customersOf(tx, missing)) customers.set(id, customerId)
  }
}

function naming(event: OrderedEvent): Naming[] {
  const name = nameIn(event)
  return name === null ? [] : [{ ...event, name }]
}
