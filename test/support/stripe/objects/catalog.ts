import Stripe from 'stripe'

export type PriceOptions = {
  id?: string
  product?: string
  /** In the currency's smallest unit. */
  amount?: number
  currency?: string
  interval?: 'day' | 'week' | 'month' | 'year'
  intervalCount?: number
  isActive?: boolean
  nickname?: string
}

type Made = { id: string; created: number; livemode: boolean }

export function createProductObject(made: Made, name: string): Stripe.Product {
  return {
    ...made,
    object: 'product',
    active: true,
    default_price: null,
    description: null,
    images: [],
    marketing_features: [],
    metadata: {},
    name,
    package_dimensions: null,
    shippable: null,
    statement_descriptor: null,
    tax_code: null,
    tax_details: null,
    type: 'service',
    unit_label: null,
    updated: made.created,
    url: null,
  }
}

export function createPriceObject(
  made: Made,
  product: string,
  options: PriceOptions,
): Stripe.Price {
  const { amount = 999, currency = 'usd', interval = 'month', intervalCount = 1 } = options
  const { isActive = true, nickname = null } = options
  return {
    ...made,
    object: 'price',
    active: isActive,
    billing_scheme: 'per_unit',
    currency,
    custom_unit_amount: null,
    lookup_key: null,
    metadata: {},
    nickname,
    product,
    recurring: {
      interval,
      interval_count: intervalCount,
      meter: null,
      trial_period_days: null,
      usage_type: 'licensed',
    },
    tax_behavior: 'unspecified',
    tiers_mode: null,
    transform_quantity: null,
    type: 'recurring',
    unit_amount: amount,
    unit_amount_decimal: Stripe.Decimal.from(amount),
  }
}

/** The older form of a price, which subscription items still have. */
export function planFromPrice(price: Stripe.Price): Stripe.Plan {
  return {
    id: price.id,
    object: 'plan',
    active: price.active,
    amount: price.unit_amount,
    amount_decimal: price.unit_amount_decimal,
    billing_scheme: 'per_unit',
    created: price.created,
    currency: price.currency,
    interval: price.recurring?.interval ?? 'month',
    interval_count: price.recurring?.interval_count ?? 1,
    livemode: price.livemode,
    metadata: {},
    meter: null,
    nickname: price.nickname,
    product: price.product as string,
    tiers_mode: null,
    transform_usage: null,
    trial_period_days: null,
    usage_type: 'licensed',
  }
}
