import type Stripe from 'stripe'

export type SessionFields = {
  id: string
  created: number
  livemode: boolean
  url: string
  expiresAt: number
  customer: Stripe.Customer | null
  lines: { price: Stripe.Price; quantity: number }[]
  isTrial: boolean
  successUrl: string
  cancelUrl: string | null
  clientReferenceId: string | null
  metadata: Stripe.Metadata
  paymentMethodCollection: 'always' | 'if_required'
  allowsPromotionCodes: boolean
  hasAutomaticTax: boolean
}

export function createSessionObject(fields: SessionFields): Stripe.Checkout.Session {
  const { id, created, livemode, customer, lines, isTrial, successUrl, cancelUrl } = fields
  const amount = isTrial ? 0 : totalOf(lines)
  return {
    id,
    object: 'checkout.session',
    adaptive_pricing: { enabled: true },
    after_expiration: null,
    allow_promotion_codes: fields.allowsPromotionCodes ? true : null,
    allowed_payment_method_types: null,
    amount_subtotal: amount,
    amount_total: amount,
    automatic_tax: {
      enabled: fields.hasAutomaticTax,
      liability: null,
      provider: null,
      status: null,
    },
    billing_address_collection: null,
    cancel_url: cancelUrl,
    client_reference_id: fields.clientReferenceId,
    client_secret: null,
    collected_information: null,
    consent: null,
    consent_collection: null,
    created,
    currency: lines[0]?.price.currency ?? null,
    currency_conversion: null,
    custom_fields: [],
    custom_text: {
      after_submit: null,
      shipping_address: null,
      submit: null,
      terms_of_service_acceptance: null,
    },
    customer: customer?.id ?? null,
    customer_account: null,
    customer_creation: customer === null ? 'always' : null,
    customer_details: null,
    customer_email: null,
    discounts: [],
    expires_at: fields.expiresAt,
    integration_identifier: null,
    invoice: null,
    invoice_creation: null,
    livemode,
    locale: null,
    managed_payments: { enabled: false },
    metadata: fields.metadata,
    mode: 'subscription',
    origin_context: null,
    payment_intent: null,
    payment_link: null,
    payment_method_collection: fields.paymentMethodCollection,
    payment_method_configuration_details: null,
    payment_method_options: {},
    payment_method_types: ['card', 'sepa_debit'],
    payment_status: 'unpaid',
    permissions: null,
    phone_number_collection: { enabled: false },
    recovered_from: null,
    saved_payment_method_options: null,
    setup_intent: null,
    shipping_address_collection: null,
    shipping_cost: null,
    shipping_options: [],
    status: 'open',
    submit_type: null,
    subscription: null,
    success_url: successUrl,
    total_details: { amount_discount: 0, amount_shipping: 0, amount_tax: 0 },
    ui_mode: 'hosted_page',
    url: fields.url,
    wallet_options: null,
  }
}

export function createLineItemObject(
  id: string,
  { price, quantity }: { price: Stripe.Price; quantity: number },
): Stripe.LineItem {
  const amount = (price.unit_amount ?? 0) * quantity
  return {
    id,
    object: 'item',
    adjustable_quantity: null,
    amount_discount: 0,
    amount_subtotal: amount,
    amount_tax: 0,
    amount_total: amount,
    currency: price.currency,
    description: price.nickname,
    metadata: {},
    price,
    quantity,
  }
}

function totalOf(lines: SessionFields['lines']): number {
  return lines.reduce((sum, { price, quantity }) => sum + (price.unit_amount ?? 0) * quantity, 0)
}
