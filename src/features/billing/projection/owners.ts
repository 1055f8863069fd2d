import { eq, sql } from 'drizzle-orm'
import type { Tx } from '../../../db/db.ts'
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
  async function assign(tx: Tx, lineKey: string) {
    const [row] = await findLine(tx).execute({ lineKey })
    if (!row) return
    const { holders, customerId } = await replay(tx, lineKey, row.state as FoldedLine)
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
  async function replay(tx: Tx, lineKey: string, state: FoldedLine) {
    const namings = await lineFolding.namingsOf(tx, lineKey, state)
    const traits = { environment: lineIn(state).environment, store: state.store ?? null }
    const customers = await customersOf(tx, [...new Set(namings.map(({ name }) => name))])
    const transfers = new Map<string, OrderedEvent>()
    const followers: Naming[] = []
    for (;;) {
      const steps = [...namings, ...followers]
      const holders = holdersOf(steps, [...transfers.values()], traits, (id) => {
        return customers.get(id) ?? id
      })
      const newTransfers = await unknownTransfers(tx, holders, transfers)
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

  async function unknownTransfers(tx: Tx, holders: string[], known: Map<string, OrderedEvent>) {
    const rows = new Set<string>()
    for (const customerId of new Set(holders)) {
      for (const { eventRow } of await findTransfersFrom(tx).execute({ customerId })) {
        if (!known.has(eventRow)) rows.add(eventRow)
      }
    }
    return eventLog.eventsIn(tx, [...rows])
  }

  async function loadCustomers(tx: Tx, customers: Map<string, string>, ids: string[]) {
    const missing = ids.filter((id) => !customers.has(id))
    if (missing.length === 0) return
    for (const [id, customerId] of await customersOf(tx, missing)) customers.set(id, customerId)
  }
}

function naming(event: OrderedEvent): Naming[] {
  const name = nameIn(event)
  return name === null ? [] : [{ ...event, name }]
}
