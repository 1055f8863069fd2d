import { type Json, toObject } from '../../../../lib/text/json.ts'
import { readAppUserId } from '../../../billing/inbox/event.ts'
import { text, toList } from '../../json.ts'
import { StripeApiError } from '../api/api-error.ts'

const STATUSES = [
  'incomplete',
  'incomplete_expired',
  'trialing',
  'active',
  'past_due',
  'unpaid',
  'paused',
  'canceled',
] as const
type Status = (typeof STATUSES)[number]

export type StripeItem = ReturnType<typeof readItem>

export type StripeSubscription = ReturnType<typeof readSubscription>

/** The owner according to a response. */
export type StripeOwner = {
  customer: string
  /** The user and the Homeport server that sold the subscription; null for another seller. */
  userId: string | null
  server: string | null
}

/** An item as of the last response. */
export type KnownItem = Pick<StripeItem, 'id' | 'productId' | 'priceId' | 'quantity'> & {
  status: Status
  invoiceId: string | null
  startsAt: number
  endsAt: number
  nextPriceId: string | null
  willRenew: boolean
  isOver: boolean
  /** Since when payments have failed, in ms; null if the last payment has not. */
  unpaidSince: number | null
  /** Whether the invoice of the period was voided, by a pause. */
  isVoided: boolean
  /** Whether the invoice of the period was paid; earlier versions did not store it. */
  isPaid?: boolean
}

/** The objects that `readSubscription` needs in the response. */
export const EXPANDED = ['latest_invoice', 'schedule', 'customer']

/** Without personal data; times in ms. Throws `StripeApiError` for a subscription in an unknown state. */
export function readSubscription(reply: Json) {
  const status = STATUSES.find((one) => one === reply['status'])
  const id = text(reply['id'])
  const startedAt = time(reply['start_date'])
  if (!status || id === null || startedAt === null) throw new StripeApiError('unreadable')
  const pause = toObject(reply['pause_collection'])
  const paused = toObject(toObject(reply['status_details'])['paused'])
  return {
    id,
    status,
    startedAt,
    cancelAt: time(reply['cancel_at']),
    cancelAtPeriodEnd: reply['cancel_at_period_end'] === true,
    cancelledAt: time(reply['canceled_at']),
    endedAt: time(reply['ended_at']),
    cancelReason: text(toObject(reply['cancellation_details'])['reason']),
    pausedAt: time(paused['transitioned_at']),
    /** What happens to invoices while their collection is paused. */
    pause:
      text(pause['behavior']) === null
        ? null
        : { behavior: String(pause['behavior']), resumesAt: time(pause['resumes_at']) },
    invoice: readInvoice(toObject(reply['latest_invoice'])),
    items: toList(toObject(reply['items'])['data']).map((item) => readItem(item, reply)),
  }
}

export function readOwner(reply: Json): StripeOwner {
  const expanded = toObject(reply['customer'])
  const customer = text(reply['customer']) ?? text(expanded['id'])
  if (customer === null) throw new StripeApiError('unreadable')
  const candidates = [reply, expanded].map(({ metadata }) => toObject(metadata))
  const metadata = candidates.find((one) => text(one['homeport_user']) !== null) ?? {}
  return {
    customer,
    userId: readAppUserId(metadata['homeport_user']),
    server: text(metadata['homeport_server']),
  }
}

function readInvoice(invoice: Json) {
  const id = text(invoice['id'])
  if (id === null) return null
  const reason = text(invoice['billing_reason'])
  return {
    id,
    status: text(invoice['status']) ?? '',
    createdAt: time(invoice['created']) ?? 0,
    /** Whether it is for a new period, and not for a change within one. */
    isOfCycle: reason === 'subscription_cycle' || reason === 'subscription_create',
    /** In the smallest unit of the currency. */
    paid: Number(invoice['amount_paid'] ?? 0),
    currency: String(invoice['currency'] ?? '').toUpperCase(),
  }
}

/** One product of a subscription; times in ms. Before 2025, Stripe reported the period in the subscription. */
function readItem(item: Json, subscription: Json) {
  const price = toObject(item['price'])
  const id = text(item['id'])
  const [startsAt, endsAt] = ['current_period_start', 'current_period_end'].map((name) =>
    time(item[name] ?? subscription[name]),
  )
  if (id === null || startsAt == null || endsAt == null) throw new StripeApiError('unreadable')
  const priceId = text(price['id']) ?? ''
  return {
    /** Such as `si_…`. */
    id,
    productId: text(price['product']) ?? text(toObject(price['product'])['id']) ?? '',
    priceId,
    quantity: Number(item['quantity'] ?? 1),
    startsAt,
    endsAt,
    /** Of one unit, in the smallest unit of the currency. */
    amount: Number(price['unit_amount'] ?? 0),
    currency: String(price['currency'] ?? '').toUpperCase(),
    /** The price that replaces this one with the next period. */
    nextPriceId: readNextPrice(toObject(subscription['schedule']), endsAt, priceId),
  }
}

/** The price that a schedule has for the next period; null if it stays the same. */
function readNextPrice({ phases }: Json, endsAt: number, priceId: string): string | null {
  const next = toList(phases).find(({ start_date: start }) => time(start) === endsAt)
  const prices = toList(next?.['items']).flatMap(
    ({ price }) => text(price) ?? text(toObject(price)['id']) ?? [],
  )
  return prices.includes(priceId) ? null : (prices[0] ?? null)
}

/** Stripe's times are in seconds. */
export function time(value: unknown): number | null {
  return Number.isSafeInteger(value) && Number(value) > 0 ? Number(value) * 1000 : null
}
