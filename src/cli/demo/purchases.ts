import { DAY_MS } from '../../lib/time/durations.ts'
import type { Culture, GeneratedUser } from './generated-users.ts'
import type { Random } from './random.ts'

/** In the billing provider's format. `at` in ms. */
export type DemoEvent = { type: string; at: number; fields: Record<string, unknown> }

type Buyer = { userId: string; store: 'APP_STORE' | 'PLAY_STORE'; culture: Culture }
type Product = 'month' | 'year'

const PERIOD_MS = { month: 30 * DAY_MS, year: 365 * DAY_MS }
const TRIAL_MS = 7 * DAY_MS
const GRACE_MS = 16 * DAY_MS
/** The shares of subscriptions that are cancelled during a period, or cannot be charged at its end. */
const CANCELLED = { month: 0.08, year: 0.35 }
const UNPAID = 0.04
/** The value of one unit in US dollars, because the provider also states every price in dollars. */
const DOLLARS: Record<string, number> = {
  USD: 1,
  EUR: 1.14,
  GBP: 1.33,
  BRL: 0.19,
  JPY: 0.0062,
  INR: 0.0105,
  SEK: 0.104,
}

/** A user's purchases until `now`: none, a subscription, coins, or both. */
export function listPurchases(user: GeneratedUser, random: Random, now: number): DemoEvent[] {
  const { id: userId, platform, culture, joinedAt } = user
  const store = platform === 'ios' ? 'APP_STORE' : 'PLAY_STORE'
  const buyer = { userId, store, culture } as const
  const events: DemoEvent[] = []
  if (random.chance(0.58)) {
    const start = joinedAt + random.between(0.01, 3) * DAY_MS
    const product = random.chance(0.22) ? 'year' : 'month'
    events.push(...subscribe(buyer, product, start, random, now))
  }
  if (random.chance(0.12)) events.push(buyCoins(buyer, random.between(joinedAt, now), random))
  return events.filter(({ at }) => at <= now)
}

/** All events of a subscription until `now`. */
function subscribe(
  buyer: Buyer,
  product: Product,
  start: number,
  random: Random,
  now: number,
): DemoEvent[] {
  const events: DemoEvent[] = []
  const original = createTransactionId(buyer, random)
  const isApple = buyer.store === 'APP_STORE'
  const serial = Number(original.slice(-6))
  let period = { start, end: start, kind: 'NORMAL', number: 0 }
  if (random.chance(0.5)) {
    period = { ...period, end: start + TRIAL_MS, kind: 'TRIAL' }
    add('INITIAL_PURCHASE', start)
    if (random.chance(0.35)) return cancel()
    period = { ...period, start: period.end, number: 1 }
  }
  while (period.start <= now) {
    const { number, start: at } = period
    period = { start: at, end: at + PERIOD_MS[product], kind: 'NORMAL', number }
    const isConversion = number === 1 && events.length === 1
    add(number === 0 ? 'INITIAL_PURCHASE' : 'RENEWAL', at, { is_trial_conversion: isConversion })
    if (random.chance(CANCELLED[product])) return cancel()
    let renewsAt = period.end
    if (random.chance(UNPAID)) {
      add('BILLING_ISSUE', period.end, { grace_period_expiration_at_ms: period.end + GRACE_MS })
      if (random.chance(0.4)) {
        add('EXPIRATION', period.end + GRACE_MS, { expiration_reason: 'BILLING_ERROR' })
        return events
      }
      renewsAt += random.between(1, 6) * DAY_MS
    }
    period = { ...period, start: renewsAt, number: number + 1 }
  }
  return events

  function cancel(): DemoEvent[] {
    const { start: from, end } = period
    add('CANCELLATION', from + random.between(0.05, 0.95) * (end - from), {
      cancel_reason: 'UNSUBSCRIBE',
    })
    add('EXPIRATION', end, { expiration_reason: 'UNSUBSCRIBE' })
    return events
  }

  function add(type: string, at: number, fields: Record<string, unknown> = {}) {
    const renewal = isApple
      ? String(2_000_000_000_000_000 + serial * 100 + period.number)
      : `${original}..${period.number - 1}`
    events.push({
      type,
      at,
      fields: {
        ...createBuyerFields(buyer),
        product_id: 'prod_example_pro',
        price_id: `price_example_pro_${product}`,
        entitlement_ids: ['pro'],
        period_type: period.kind,
        original_transaction_id: original,
        transaction_id: period.number === 0 ? original : renewal,
        purchased_at_ms: Math.floor(period.start),
        expiration_at_ms: Math.floor(period.end),
        ...createPriceFields(
          buyer.culture,
          period.kind === 'TRIAL' ? 0 : buyer.culture.prices[product],
        ),
        ...fields,
      },
    })
  }
}

function buyCoins(buyer: Buyer, at: number, random: Random): DemoEvent {
  const transaction = createTransactionId(buyer, random)
  return {
    type: 'NON_RENEWING_PURCHASE',
    at,
    fields: {
      ...createBuyerFields(buyer),
      product_id: 'coins_500',
      entitlement_ids: [],
      period_type: 'NORMAL',
      original_transaction_id: transaction,
      transaction_id: transaction,
      purchased_at_ms: Math.floor(at),
      ...createPriceFields(buyer.culture, buyer.culture.prices.coins),
    },
  }
}

function createBuyerFields({ userId, store, culture }: Buyer) {
  return {
    app_user_id: userId,
    environment: 'PRODUCTION',
    store,
    country_code: culture.country,
  }
}

function createPriceFields({ currency }: Culture, price: number) {
  return {
    currency,
    price: Math.round(price * (DOLLARS[currency] ?? 1) * 100) / 100,
    price_in_purchased_currency: price,
  }
}

/** A random transaction id in the store's format. */
function createTransactionId({ store }: Buyer, random: Random): string {
  const digits = String(Math.floor(random.between(10 ** 14, 10 ** 15)))
  if (store === 'APP_STORE') return `2${digits}`
  const [, a, b, c, d] = /^(....)(....)(....)(...)/.exec(digits) ?? []
  return `GPA.${a}-${b}-${c}-${d}${digits.slice(-2)}`
}
