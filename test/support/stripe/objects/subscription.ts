import type Stripe from 'stripe'
import { planFromPrice } from './catalog.ts'
import { listOf } from './list.ts'

export type MissingPaymentMethod = 'cancel' | 'pause' | 'create_invoice'

type SubscriptionFields = {
  id: string
  created: number
  livemode: boolean
  customer: string
  currency: string
  status: Stripe.Subscription.Status
  isFlexible: boolean
  items: Stripe.SubscriptionItem[]
  metadata: Stripe.Metadata
  paymentMethod: string | null
  trialEnd: number | null
  missingPaymentMethod: MissingPaymentMethod
}

export function createSubscriptionObject(fields: SubscriptionFields): Stripe.Subscription {
  const { id, created, livemode, customer, currency, status, isFlexible, items, metadata } = fields
  const { paymentMethod, trialEnd, missingPaymentMethod } = fields
  return {
    id,
    object: 'subscription',
    application: null,
    application_fee_percent: null,
    automatic_tax: { disabled_reason: null, enabled: false, liability: null },
    billing_cycle_anchor: trialEnd ?? created,
    billing_cycle_anchor_config: null,
    billing_mode: isFlexible
      ? { flexible: { proration_discounts: 'included' }, type: 'flexible' }
      : { flexible: null, type: 'classic' },
    billing_schedules: [],
    billing_thresholds: null,
    cancel_at: null,
    cancel_at_period_end: false,
    canceled_at: null,
    cancellation_details: { comment: null, feedback: null, feedback_option: null, reason: null },
    collection_method: 'charge_automatically',
    created,
    currency,
    customer,
    customer_account: null,
    days_until_due: null,
    default_payment_method: paymentMethod,
    default_source: null,
    default_tax_rates: [],
    description: null,
    discounts: [],
    ended_at: null,
    invoice_settings: {
      account_tax_ids: null,
      custom_fields: null,
      description: null,
      footer: null,
      issuer: { type: 'self' },
    },
    items: listOf(items, `/v1/subscription_items?subscription=${id}`),
    latest_invoice: null,
    livemode,
    managed_payments: { enabled: false },
    metadata,
    next_pending_invoice_item_invoice: null,
    on_behalf_of: null,
    pause_collection: null,
    payment_settings: {
      payment_method_options: null,
      payment_method_types: null,
      save_default_payment_method: 'off',
    },
    pending_invoice_item_interval: null,
    pending_setup_intent: null,
    pending_update: null,
    schedule: null,
    start_date: created,
    status,
    test_clock: null,
    transfer_data: null,
    trial_end: trialEnd,
    trial_settings: {
      end_behavior: { billing_cycle_anchor: null, missing_payment_method: missingPaymentMethod },
    },
    trial_start: trialEnd === null ? null : created,
  }
}

type ItemFields = {
  id: string
  created: number
  subscription: string
  price: Stripe.Price
  quantity: number
  start: number
  end: number
}

export function createItemObject(fields: ItemFields): Stripe.SubscriptionItem {
  const { id, created, subscription, price, quantity, start, end } = fields
  return {
    id,
    object: 'subscription_item',
    billing_thresholds: null,
    created,
    current_period_end: end,
    current_period_start: start,
    current_trial: null,
    discounts: [],
    metadata: {},
    plan: planFromPrice(price),
    price,
    quantity,
    subscription,
    tax_rates: [],
  }
}
