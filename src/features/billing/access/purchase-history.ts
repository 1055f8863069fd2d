import { desc, eq } from 'drizzle-orm'
import { addPrices, type DisplayPrice } from '../../../lib/money/prices.ts'
import { type Difference, differencesBetween } from '../../../lib/text/differences.ts'
import type { Attribution } from '../inbox/attribution.ts'
import { moneyMoved } from '../inbox/event-details.ts'
import type { EventLog } from '../inbox/event-log.ts'
import type { OrderedEvent } from '../purchases/event-order.ts'
import { PURCHASE_CLAIMED } from '../purchases/event-types.ts'
import { applyEvent, foldPurchase } from '../purchases/fold.ts'
import { PERIOD_TOLERANCE_MS } from '../purchases/periods.ts'
import type { Purchase } from '../purchases/purchase.ts'
import { isRefund } from '../purchases/refunds.ts'
import type { BillingDb } from '../schema.ts'
import { isoTime } from './access-explanation.ts'

type Entry = {
  eventId: string
  type: string
  isRefund: boolean
  at: string
  receivedAt: string
  outcome: string
  error: string | null
  /** The amount paid; negative for a refund. Each payment has one price, even if several sources report it. */
  price: DisplayPrice | null
  changes: Difference[]
  /** Null unless the event links the purchase to a user. */
  linkedTo: string | null
  /** Who linked the purchase or granted the access, and why. */
  support: Attribution | null
}

type PurchaseHistory = {
  /** Newest first. */
  events: Entry[]
  /** Whether earlier events are not shown. */
  isCut: boolean
  /** The total paid in each currency, less refunds. */
  paid: DisplayPrice[]
}

/** The newest events of each purchase. */
const MAX_EVENTS_SHOWN = 200
/** Fields whose changes are not shown, because they explain nothing. */
const HIDDEN_FIELDS = /^(price|priceId|isTemporary|grant)(\.|$)/
const TIME_FIELDS = /At$/

/** Reads the events of a purchase with the changes that each made. Applies them as the projection does. */
export function createPurchaseHistory(db: BillingDb, eventLog: Pick<EventLog, 'readRows'>) {
  const { billingEvents } = db.tables
  return async function read(purchaseKey: string): Promise<PurchaseHistory> {
    const rows = await db.read
      .select()
      .from(billingEvents)
      .where(eq(billingEvents.purchaseKey, purchaseKey))
      .orderBy(desc(billingEvents.orderedAt))
      .limit(MAX_EVENTS_SHOWN * 5)
    const byEvent = new Map(rows.map((row) => [row.eventId, row]))
    const events = eventLog.readRows(rows)
    const prices = listPrices(events)
    const earlier = events.slice(0, -MAX_EVENTS_SHOWN)
    let before = foldPurchase(earlier)
    const entries = events.slice(earlier.length).map((event) => {
      const after = applyEvent(before, event)
      const row = byEvent.get(event.id)
      const entry = {
        eventId: event.id,
        type: event.type,
        isRefund: isRefund(event),
        at: new Date(event.orderedAt).toISOString(),
        receivedAt: row?.receivedAt.toISOString() ?? '',
        outcome: row?.outcome ?? '',
        error: row?.error ?? null,
        price: prices.get(event) ?? null,
        changes: listChanges(before, after),
        linkedTo: event.type === PURCHASE_CLAIMED ? event.appUserId : null,
        support: event.support,
      }
      before = after
      return entry
    })
    return {
      events: entries.toReversed(),
      isCut: earlier.length > 0,
      paid: addPrices([...prices.values()]),
    }
  }
}

/** The store and the billing provider may both report a payment: only the first event of its transaction has a price. */
function listPrices(events: OrderedEvent[]): Map<OrderedEvent, DisplayPrice> {
  const payments: OrderedEvent[] = []
  const refunds: OrderedEvent[] = []
  const prices = new Map<OrderedEvent, DisplayPrice>()
  for (const event of events) {
    const isSame = (other: OrderedEvent) => isSameTransaction(event, other)
    const at = event.type === 'REFUND_REVERSED' ? refunds.findIndex(isSame) : -1
    const [refund] = at === -1 ? [] : refunds.splice(at, 1)
    const taken = refund && prices.get(refund)
    const price = taken ? { ...taken, amount: -taken.amount } : moneyMoved(event)
    if (price === null) continue
    const known = price.amount < 0 ? refunds : payments
    if (taken === undefined) {
      if (known.some(isSame)) continue
      known.push(event)
    }
    prices.set(event, price)
  }
  return prices
}

/** At Stripe, the billing provider may give each payment the transaction id of the purchase. */
function isSameTransaction(a: OrderedEvent, b: OrderedEvent): boolean {
  const isSameId = (a.transactionId ?? a.id) === (b.transactionId ?? b.id)
  const fromProvider = [a, b].filter(({ stated }) => stated === null).length
  const distance = Math.abs((a.purchasedAt ?? Number.NaN) - (b.purchasedAt ?? Number.NaN))
  if (a.store !== 'STRIPE' || fromProvider === 0 || Number.isNaN(distance)) return isSameId
  return distance <= PERIOD_TOLERANCE_MS || (fromProvider === 1 && isSameId)
}

/** Times as ISO 8601. */
function listChanges(before: Purchase | null, after: Purchase): Difference[] {
  return differencesBetween(before ?? {}, after)
    .filter(
      ({ path, after: value }) =>
        !HIDDEN_FIELDS.test(path) && !(before === null && isEmptyValue(value)),
    )
    .map(({ path, before: old, after: value }) => {
      const format = TIME_FIELDS.test(path)
        ? (time: unknown) => isoTime(time as number | null)
        : asIs
      return { path, before: format(old), after: format(value) }
    })
}

function isEmptyValue(value: unknown): boolean {
  return value === null || value === false || (Array.isArray(value) && value.length === 0)
}

function asIs(value: unknown): unknown {
  return value
}
