import { type Delivery, readDelivery } from '../../../src/features/billing/inbox/event.ts'
import {
  addEvent,
  type FoldState,
  toRow,
  toStored,
} from '../../../src/features/billing/projection/fold-state.ts'
import {
  computeOrderingTime,
  findPurchaseKey,
} from '../../../src/features/billing/purchases/event-order.ts'
import { sha256 } from '../../../src/lib/crypto/hash.ts'
import type { Services } from '../../../src/server/services.ts'
import type { Insert, Size, Tables } from './large-data.ts'
import { userIdOf } from './large-users.ts'

const DAY = 24 * 60 * 60 * 1000
const START = Date.UTC(2024, 0)
/** Histories longer than a checkpoint, created by the services: their number per user, and their length in events. */
const LONG = { share: 0.0001, length: 300 }
const TRANSFERS_SHARE = 0.001

/** Adds purchases with their events, computed by the server's own functions. Yields the progress. */
export function* addBilling(tables: Tables, insert: Insert, size: Size) {
  const { billingEvents, billingAliases, subscriptions, purchaseOwners } = tables
  const perPurchase = size.events / size.purchases
  let added = 0
  for (let purchase = 0; purchase < size.purchases; purchase++) {
    const appUserId = userIdOf(purchase % size.users)
    const isFirst = purchase < size.users
    if (isFirst) insert(billingAliases, { appUserId, customerId: appUserId })
    let state: FoldState | null = null
    let key = ''
    const wanted = Math.round((purchase + 1) * perPurchase) - added
    for (const [at, type] of typesOf(purchase, wanted).entries()) {
      const delivery = eventOf(purchase, at, type, appUserId)
      const { event, bytes } = delivery
      const receivedAt = new Date((event.at ?? 0) + 1_000)
      const { orderedAt, clockIsOff } = computeOrderingTime(event, receivedAt.getTime())
      key = findPurchaseKey(event) ?? ''
      state = addEvent(state, { ...event, orderedAt })
      insert(billingEvents, {
        id: rowId(added, receivedAt),
        provider: 'revenuecat',
        eventId: event.id,
        type,
        eventAt: new Date(event.at ?? 0),
        receivedAt,
        orderedAt,
        purchaseKey: key,
        body: Buffer.from(bytes),
        bodyHash: sha256(bytes, 'hex'),
        environment: event.environment,
        appUserId,
        outcome: 'applied',
        duplicates: 0,
        conflicting: added % 5_000 === 0,
        clockIsOff,
      })
      added++
      if (added % 200_000 === 0) yield `${added} events`
    }
    if (!state) continue
    const { environment } = state.purchase
    const stored = toStored(state)
    insert(subscriptions, {
      purchaseKey: key,
      customerId: appUserId,
      environment,
      ...toRow(stored),
    })
    insert(purchaseOwners, { purchaseKey: key, customerId: appUserId })
  }
}

/** Delivers long histories and transfers through the services, as the provider would. */
export async function addLongHistories(
  { eventInbox }: Services,
  size: Size,
  logProgress: (text: string) => void,
) {
  const count = Math.max(1, Math.round(size.users * LONG.share))
  for (let at = 0; at < count; at++) {
    const appUserId = userIdOf(size.users + at)
    const deliveries = typesOf(0, LONG.length).map((type, step) =>
      eventOf(size.purchases + at, step, type, appUserId),
    )
    await Promise.all(deliveries.map((delivery) => eventInbox.receive(delivery)))
    if (at % 10 === 9) logProgress(`${at + 1} long histories`)
  }
  const transfers = Math.round(size.users * TRANSFERS_SHARE)
  for (let at = 0; at < transfers; at++) {
    const from = userIdOf(at * 7)
    await eventInbox.receive(transferOf(at, from, userIdOf(at * 7 + 3)))
    if (at % 100 === 99) logProgress(`${at + 1} transfers`)
  }
}

/** The history of a purchase: renewals, and sometimes a lapse, a return, an unpaid bill or a final refund. */
function typesOf(purchase: number, count: number): string[] {
  const types: string[] = Array.from({ length: count }, (_, at) =>
    at === 0 ? 'INITIAL_PURCHASE' : 'RENEWAL',
  )
  if (count > 3 && purchase % 3 === 0) types.splice(-2, 2, 'CANCELLATION', 'EXPIRATION')
  if (count > 5 && purchase % 10 === 1) types.splice(2, 2, 'CANCELLATION', 'UNCANCELLATION')
  if (count > 4 && purchase % 25 === 2) types.splice(-1, 1, 'BILLING_ISSUE')
  if (count > 2 && purchase % 50 === 4) types.splice(-1, 1, 'REFUND')
  return types
}

/** A row id, in insertion order. */
function rowId(at: number, receivedAt: Date): string {
  const time = (receivedAt.getTime() % 2 ** 40).toString(16).padStart(12, '0')
  const rest = at.toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-9000-${rest}`
}

function eventOf(purchase: number, at: number, type: string, appUserId: string): Delivery {
  const time = timeOf(purchase, at)
  return toDelivery(eventFields({ id: `event-${purchase}-${at}`, type, purchase, time, appUserId }))
}

/** The time of a purchase's event `at`, in ms. */
export function timeOf(purchase: number, at: number): number {
  return START + (purchase % 700) * DAY + at * 30 * DAY
}

/** A purchase's event as the provider sends it; `time` in ms. */
export function eventFields(event: {
  id: string
  type: string
  purchase: number | string
  time: number
  appUserId: string
}) {
  const { id, type, purchase, time, appUserId } = event
  return {
    id,
    type,
    event_timestamp_ms: time,
    app_user_id: appUserId,
    original_app_user_id: appUserId,
    aliases: [appUserId],
    environment: Number(purchase) % 100 === 0 ? 'SANDBOX' : 'PRODUCTION',
    store: Number(purchase) % 2 === 0 ? 'APP_STORE' : 'PLAY_STORE',
    product_id: 'prod_example_pro',
    entitlement_ids: ['pro'],
    period_type: 'NORMAL',
    original_transaction_id: `GPA.${purchase}`,
    transaction_id: `GPA.${purchase}..${time}`,
    purchased_at_ms: time,
    expiration_at_ms: time + 30 * DAY,
    price: 9.99,
    currency: 'USD',
    country_code: 'US',
    cancel_reason: type === 'CANCELLATION' ? 'UNSUBSCRIBE' : null,
    presented_offering_id: 'default',
    takehome_percentage: 0.85,
  }
}

function transferOf(at: number, from: string, to: string): Delivery {
  return toDelivery(transferFields(`transfer-${at}`, from, to))
}

/** A transfer of all purchases from one user to another, now. */
export function transferFields(id: string, from: string, to: string) {
  return {
    id,
    type: 'TRANSFER',
    event_timestamp_ms: Date.now(),
    transferred_from: [from],
    transferred_to: [to],
    store: 'APP_STORE',
    environment: 'PRODUCTION',
  }
}

function toDelivery(event: Record<string, unknown>): Delivery {
  const body = { api_version: '1.0', event }
  const bytes = Buffer.from(JSON.stringify(body))
  const delivery = readDelivery(body, bytes)
  if (!delivery) throw new Error('not a billing event')
  return delivery
}
