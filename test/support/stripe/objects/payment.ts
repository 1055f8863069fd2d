import type Stripe from 'stripe'

type Made = { id: string; created: number }

const DECLINED = {
  code: 'card_declined',
  decline_code: 'generic_decline',
  message: 'Your card was declined.',
} as const

export function createPaymentIntentObject(
  { id, created }: Made,
  invoice: Stripe.Invoice,
  paymentMethod: string | null,
): Stripe.PaymentIntent {
  return {
    id,
    object: 'payment_intent',
    allowed_payment_method_types: null,
    amount: invoice.amount_due,
    amount_capturable: 0,
    amount_received: 0,
    application: null,
    application_fee_amount: null,
    automatic_payment_methods: null,
    canceled_at: null,
    cancellation_reason: null,
    capture_method: 'automatic',
    client_secret: `${id}_secret_fake`,
    confirmation_method: 'automatic',
    created,
    currency: invoice.currency,
    customer: invoice.customer as string,
    customer_account: null,
    description: 'Subscription update',
    excluded_payment_method_types: null,
    last_payment_error: null,
    latest_charge: null,
    livemode: invoice.livemode,
    managed_payments: null,
    metadata: {},
    next_action: null,
    on_behalf_of: null,
    payment_method: paymentMethod,
    payment_method_configuration_details: null,
    payment_method_options: null,
    payment_method_types: ['card'],
    payment_record: null,
    processing: null,
    receipt_email: null,
    review: null,
    setup_future_usage: 'off_session',
    shipping: null,
    source: null,
    statement_descriptor: null,
    statement_descriptor_suffix: null,
    status: 'requires_confirmation',
    transfer_group: null,
  }
}

export function createChargeObject(
  { id, created }: Made,
  intent: Stripe.PaymentIntent,
  status: 'succeeded' | 'failed' | 'pending',
): Stripe.Charge {
  const hasFailed = status === 'failed'
  return {
    id,
    object: 'charge',
    amount: intent.amount,
    amount_captured: hasFailed ? 0 : intent.amount,
    amount_refunded: 0,
    application: null,
    application_fee: null,
    application_fee_amount: null,
    balance_transaction: null,
    billing_details: { address: null, email: null, name: null, phone: null, tax_id: null },
    calculated_statement_descriptor: 'EXAMPLE',
    captured: !hasFailed,
    created,
    currency: intent.currency,
    customer: intent.customer,
    description: intent.description,
    disputed: false,
    failure_balance_transaction: null,
    failure_code: hasFailed ? DECLINED.code : null,
    failure_message: hasFailed ? DECLINED.message : null,
    fraud_details: {},
    livemode: intent.livemode,
    metadata: {},
    on_behalf_of: null,
    outcome: null,
    paid: status === 'succeeded',
    payment_intent: intent.id,
    payment_method: intent.payment_method as string | null,
    payment_method_details: null,
    receipt_email: null,
    receipt_number: null,
    receipt_url: null,
    refunded: false,
    review: null,
    shipping: null,
    source: null,
    source_transfer: null,
    statement_descriptor: null,
    statement_descriptor_suffix: null,
    status,
    transfer_data: null,
    transfer_group: null,
  }
}

/** The error of a payment intent whose payment was declined. */
export function declined(charge: string): Stripe.PaymentIntent.LastPaymentError {
  return { charge, ...DECLINED, type: 'card_error' }
}

export function createRefundObject(
  { id, created }: Made,
  charge: Stripe.Charge,
  amount: number,
  status: 'succeeded' | 'pending',
): Stripe.Refund {
  return {
    id,
    object: 'refund',
    amount,
    balance_transaction: null,
    charge: charge.id,
    created,
    currency: charge.currency,
    customer: charge.customer,
    customer_account: null,
    metadata: {},
    payment_intent: charge.payment_intent,
    payment_method: charge.payment_method,
    reason: 'requested_by_customer',
    receipt_number: null,
    source_transfer_reversal: null,
    status,
    transfer_reversal: null,
  }
}
