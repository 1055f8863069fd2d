import { eq, inArray } from 'drizzle-orm'
import type { Db } from '../../db/open.ts'
import type { Tx } from '../../db/write.ts'
import { type BillingEvent, readEvent } from './event.ts'
import { foldLine, type Line, step } from './fold.ts'
import { customerIdOf, idsJoinedBy } from './identities.ts'
import { compareEvents, lineKeyOf, type OrderedEvent } from './line.ts'
import { holdersOf } from './ownership.ts'
import { prepareQueries } from './projection-queries.ts'
import { type FoldedLine, lineIn, packed } from './stored-line.ts'

export type Projection = ReturnType<typeof createProjection>

/** Keeps the subscription state in step with the log. Every function runs inside a change. */
export function createProjection(db: Db) {
  const { billingEvents, billingAliases, lineHolders, transferIds } = db.tables
  const {
    findAlias,
    storeAlias,
    storeHolder,
    findLine,
    storeLine,
    touchesTransfer,
    findAnyTransfer,
    updateState,
    readLines,
  } = prepareQueries(db)
  /** Most logs know no transfer: then nobody need be asked for one. Null: not looked yet. */
  let anyTransfer: boolean | null = null
  return { apply, refold, link, linesOf }

  /**
   * Takes an event of the log in: who is who, whose is what, and the line it speaks of. One that `isNew`
   * may be added to its line as it stands; after any other the line is folded anew.
   */
  async function apply(tx: Tx, event: OrderedEvent, eventRow: string, isNew = true) {
    const merged = await link(tx, event)
    if (event.type === 'TRANSFER') return applyTransfer(tx, event, eventRow)
    const key = lineKeyOf(event)
    for (const other of merged) if (other !== key) await refold(tx, other)
    if (key === null) return
    const isAppended = isNew && merged.length === 0 && (await append(key, event))
    if (!isAppended) await refold(tx, key)
  }

  /**
   * Makes the ids of an event one customer. Answers the lines whose owner may be another one by that.
   */
  async function link(tx: Tx, event: OrderedEvent): Promise<string[]> {
    const ids = idsJoinedBy(event)
    if (ids.length === 0) return []
    const customers = new Set<string>()
    const missing: string[] = []
    for (const id of ids) {
      const [alias] = await findAlias().execute({ id })
      if (alias) customers.add(alias.customerId)
      else missing.push(id)
    }
    const customerId = customerIdOf([...customers, ...missing])
    for (const id of missing) await storeAlias().execute({ id, customerId })
    const others = [...customers].filter((id) => id !== customerId)
    return others.length === 0 ? [] : merge(tx, customerId, others)
  }

  /** Folds a line anew from all of its events, and finds its owner. */
  async function refold(tx: Tx, key: string): Promise<boolean> {
    const events = await eventsOf(tx, key)
    const line = foldLine(events)
    const last = events.toSorted(compareEvents).at(-1)
    const [before] = await findLine().execute({ lineKey: key })
    if (line === null || last === undefined) return false
    const { holders, customerId } = await ownersOf(tx, events)
    await tx.delete(lineHolders).where(eq(lineHolders.lineKey, key))
    for (const holder of new Set(holders)) {
      await storeHolder().execute({ lineKey: key, customerId: holder })
    }
    const state = packed(line, last)
    const isSame =
      before?.customerId === customerId && JSON.stringify(before.state) === JSON.stringify(state)
    if (!isSame) {
      const { environment } = line
      await storeLine().execute({ lineKey: key, customerId, environment, state })
    }
    return !isSame
  }

  /** The lines that a customer holds, in one environment, as of the last commit. */
  async function linesOf(customerId: string, environment: string): Promise<Line[]> {
    const rows = await readLines.execute({ customerId, environment })
    return rows.map(({ state }) => lineIn(state as FoldedLine))
  }

  /**
   * The common case: the event is the latest of its line, and no transfer ever touched its customer.
   * Then one step more is the same fold. False when it is not that simple.
   */
  async function append(key: string, event: OrderedEvent): Promise<boolean> {
    const namedId = event.appUserId ?? event.originalAppUserId ?? event.aliases[0]
    if (namedId === undefined) return false
    const [alias] = await findAlias().execute({ id: namedId })
    if (!alias) return false
    const { customerId } = alias
    if ((await transfersFrom(customerId)).length > 0) return false
    const [row] = await findLine().execute({ lineKey: key })
    const before = (row?.state ?? null) as FoldedLine | null
    if (
      before !== null &&
      (row?.customerId !== customerId || compareEvents(before.last, event) >= 0)
    ) {
      return false
    }
    const line = step(before ? lineIn(before) : null, event)
    const state = packed(line, event)
    if (before) {
      await updateState().execute({ lineKey: key, state: JSON.stringify(state) })
    } else {
      await storeHolder().execute({ lineKey: key, customerId })
      const { environment } = event
      await storeLine().execute({ lineKey: key, customerId, environment, state })
    }
    return true
  }

  async function applyTransfer(tx: Tx, event: OrderedEvent, eventRow: string) {
    const named = [
      ...event.transferredFrom.map((appUserId) => ({ appUserId, eventRow, isSource: true })),
      ...event.transferredTo.map((appUserId) => ({ appUserId, eventRow, isSource: false })),
    ]
    anyTransfer = true
    if (named.length > 0) await tx.insert(transferIds).values(named).onConflictDoNothing()
    const customers = await Promise.all(event.transferredFrom.map((id) => customerOf(id)))
    for (const id of [...event.transferredFrom, ...event.transferredTo]) await know(tx, id)
    for (const key of await linesHeldBy(tx, customers)) await refold(tx, key)
  }

  /** An id that was only ever named by a transfer is a customer too. */
  async function know(tx: Tx, appUserId: string) {
    await tx
      .insert(billingAliases)
      .values({ appUserId, customerId: appUserId })
      .onConflictDoNothing()
  }

  async function merge(tx: Tx, customerId: string, others: string[]): Promise<string[]> {
    const touched = await linesHeldBy(tx, [customerId, ...others])
    await tx
      .update(billingAliases)
      .set({ customerId })
      .where(inArray(billingAliases.customerId, others))
    return touched
  }

  async function linesHeldBy(tx: Tx, customers: string[]): Promise<string[]> {
    const rows = await tx
      .selectDistinct({ lineKey: lineHolders.lineKey })
      .from(lineHolders)
      .where(inArray(lineHolders.customerId, customers))
    return rows.map(({ lineKey }) => lineKey)
  }

  /** Replays the owners of a line, with every transfer that takes from one of them. */
  async function ownersOf(tx: Tx, events: OrderedEvent[]) {
    const customers = new Map<string, string>()
    const learn = async (ids: (string | null | undefined)[]) => {
      for (const id of ids) if (id && !customers.has(id)) customers.set(id, await customerOf(id))
    }
    for (const { appUserId, originalAppUserId, aliases } of events) {
      await learn([appUserId, originalAppUserId, aliases[0]])
    }
    const transfers = new Map<string, OrderedEvent>()
    let holders: string[] = []
    for (let known = -1; known < transfers.size; ) {
      known = transfers.size
      holders = holdersOf(events, [...transfers.values()], (id) => customers.get(id) ?? id)
      for (const holder of new Set(holders)) {
        for (const { eventRow } of await transfersFrom(holder)) {
          if (transfers.has(eventRow)) continue
          const transfer = await eventAt(tx, eventRow)
          if (transfer) transfers.set(eventRow, transfer)
          await learn([...(transfer?.transferredFrom ?? []), ...(transfer?.transferredTo ?? [])])
        }
      }
    }
    return { holders, customerId: holders.at(-1) ?? '' }
  }

  async function transfersFrom(customerId: string) {
    anyTransfer ??= (await findAnyTransfer().execute()).length > 0
    return anyTransfer ? touchesTransfer().execute({ customerId }) : []
  }

  async function customerOf(appUserId: string): Promise<string> {
    const [alias] = await findAlias().execute({ id: appUserId })
    return alias?.customerId ?? appUserId
  }

  async function eventsOf(tx: Tx, key: string): Promise<OrderedEvent[]> {
    const rows = await tx
      .select({
        body: billingEvents.body,
        orderedAt: billingEvents.orderedAt,
        eventId: billingEvents.eventId,
      })
      .from(billingEvents)
      .where(eq(billingEvents.lineKey, key))
    return rows.flatMap((row) => ordered(row) ?? [])
  }

  async function eventAt(tx: Tx, eventRow: string): Promise<OrderedEvent | null> {
    const [row] = await tx
      .select({
        body: billingEvents.body,
        orderedAt: billingEvents.orderedAt,
        eventId: billingEvents.eventId,
      })
      .from(billingEvents)
      .where(eq(billingEvents.id, eventRow))
    return row ? ordered(row) : null
  }
}

/** An event of the log as the fold takes it. */
export function ordered(row: {
  body: Buffer
  orderedAt: number
  eventId: string
}): OrderedEvent | null {
  const event: BillingEvent | null = readEvent(JSON.parse(row.body.toString('utf8')), row.body)
  return event && { ...event, id: row.eventId, orderedAt: row.orderedAt }
}
