import { type BillingEvent, readEvent } from '../../src/features/billing/inbox/event.ts'
import { type TestApp, WEBHOOK_TOKEN } from './app.ts'

export const DAY = 24 * 60 * 60 * 1000
/** The instant that stories call 0. */
export const T0 = Date.UTC(2026, 9, 1)

/** An event as a story writes it: a type, an instant in days after T0, and the fields that matter. */
export type Told = { type: string; at: number; id?: string } & Record<string, unknown>

let count = 0

/** The provider's body of an event; times that end in `_day` are days after T0. */
export function bodyOf({ type, at, id, ...fields }: Told) {
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
): Told {
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
export function purchase(user: string, fields: Record<string, unknown> = {}): Told {
  return lifecycle(user, 'INITIAL_PURCHASE', 0, { purchased_day: 0, expiration_day: 30, ...fields })
}

export async function deliver(app: TestApp, told: Told | object) {
  const json = 'at' in told ? bodyOf(told as Told) : told
  const answer = await app.ask('POST', '/api/webhooks/billing/v1', { token: WEBHOOK_TOKEN, json })
  if (answer.status !== 200) throw new Error(`a delivery was answered ${answer.text}`)
  return answer.json.code as string
}

/** Takes an event in as the webhook does behind HTTP, for tests that deliver thousands. */
export async function receive({ services }: TestApp, told: Told): Promise<string> {
  const body = bodyOf(told)
  const bytes = Buffer.from(JSON.stringify(body))
  const event = readEvent(body, bytes)
  if (!event) throw new Error('the story has no event')
  return services.billing.receive({ event, bytes })
}

/** Every order of a list. */
export function* permutations<T>(list: T[]): Generator<T[]> {
  if (list.length <= 1) yield list
  for (const [at, first] of list.entries()) {
    const rest = list.toSpliced(at, 1)
    for (const order of permutations(rest)) yield [first, ...order]
  }
}

export type { BillingEvent }
