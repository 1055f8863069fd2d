import { type BillingEvent, readDelivery } from '../../src/features/billing/inbox/event.ts'
import { type TestApp, WEBHOOK_TOKEN } from './app.ts'

export const DAY = 24 * 60 * 60 * 1000
/** Day 0 of event fixtures. */
export const T0 = Date.UTC(2026, 9, 1)

/** An event for a test: its type, its time in days after T0, and further fields. */
export type EventFixture = { type: string; at: number; id?: string } & Record<string, unknown>

let count = 0

/** The body of an event, as the provider sends it. Fields that end in `_day` are days after T0. */
export function bodyOf({ type, at, id, ...fields }: EventFixture) {
  const event: Record<string, unknown> = {
    id: id ?? `T-${++count}`,
    type,
    event_timestamp_ms: ms(at),
    environment: 'PRODUCTION',
    store: 'APP_STORE',
  }
  for (const [name, value] of Object.entries(fields)) {
    if (name.endsWith('_day'))
      event[name.replace(/_day$/, '_at_ms')] = value === null ? null : ms(value as number)
    else event[name] = value
  }
  return { api_version: '1.0', event }
}

/** A lifecycle event of one subscription of `user`. */
export function lifecycle(
  user: string,
  type: string,
  at: number,
  fields: Record<string, unknown> = {},
): EventFixture {
  return {
    type,
    at,
    app_user_id: user,
    product_id: 'prod_example_pro',
    entitlement_ids: ['pro'],
    period_type: 'NORMAL',
    transaction_id: '1000',
    original_transaction_id: '1000',
    price: 9.99,
    ...fields,
  }
}

export function ms(day: number): number {
  return T0 + Math.round(day * DAY)
}

export function iso(day: number): string {
  return new Date(ms(day)).toISOString()
}

/** A purchase at day 0 that lasts until day 30. */
export function purchase(user: string, fields: Record<string, unknown> = {}): EventFixture {
  return lifecycle(user, 'INITIAL_PURCHASE', 0, { purchased_day: 0, expiration_day: 30, ...fields })
}

export async function deliver(app: TestApp, fixture: EventFixture | object) {
  const json = 'at' in fixture ? bodyOf(fixture as EventFixture) : fixture
  const reply = await app.ask('POST', '/api/webhooks/billing/v1', { token: WEBHOOK_TOKEN, json })
  if (reply.status !== 200) throw new Error(`the delivery failed: ${reply.text}`)
  return reply.json.code as string
}

/** Delivers without HTTP, for tests with thousands of events. */
export async function receive({ services }: TestApp, fixture: EventFixture): Promise<string> {
  const body = bodyOf(fixture)
  const bytes = Buffer.from(JSON.stringify(body))
  const delivery = readDelivery(body, bytes)
  if (!delivery) throw new Error('the fixture has no event')
  return services.eventInbox.receive(delivery)
}

/** Deletes all events and what is derived from them. */
export async function clearBilling({ services: { db } }: TestApp) {
  const { billingEvents, subscriptions, billingAliases, purchaseOwners, transferIds } = db.tables
  const { purchaseCheckpoints, stalePurchases, staleCustomers } = db.tables
  const { purchasePeriods, businessSums, changedPurchases } = db.tables
  const figures = [purchasePeriods, businessSums, changedPurchases]
  const derived = [...figures, purchaseCheckpoints, stalePurchases, staleCustomers]
  const tables = [subscriptions, billingAliases, purchaseOwners, transferIds, ...derived]
  await db.write(async (tx) => {
    for (const table of [billingEvents, ...tables]) await tx.delete(table)
  })
}

/** Yields every permutation of a list. */
export function* permutations<T>(list: T[]): Generator<T[]> {
  if (list.length <= 1) yield list
  for (const [at, first] of list.entries()) {
    const rest = list.toSpliced(at, 1)
    for (const order of permutations(rest)) yield [first, ...order]
  }
}

export type { BillingEvent }

/** The purchases of a customer, as `foldPurchase` returns them. */
export async function storedPurchases(
  { services }: TestApp,
  customerId: string,
  environment = 'PRODUCTION',
) {
  const purchases = await services.projection.listPurchases(customerId, environment)
  return purchases.map(({ purchaseKey: _key, ...purchase }) => purchase)
}
