import type Stripe from 'stripe'

export type CustomerFields = {
  email?: string | null
  name?: string | null
  metadata?: Stripe.Metadata
}

type Made = { id: string; created: number; livemode: boolean }

export function createCustomerObject(
  made: Made,
  { email = null, name = null, metadata = {} }: CustomerFields,
): Stripe.Customer {
  return {
    ...made,
    object: 'customer',
    address: null,
    balance: 0,
    currency: null,
    customer_account: null,
    default_source: null,
    delinquent: false,
    description: null,
    discount: null,
    email,
    invoice_prefix: made.id.slice(-8).toUpperCase(),
    invoice_settings: {
      custom_fields: null,
      default_payment_method: null,
      footer: null,
      rendering_options: null,
    },
    metadata,
    name,
    next_invoice_sequence: 1,
    phone: null,
    preferred_locales: [],
    shipping: null,
    tax_exempt: 'none',
    test_clock: null,
  }
}

/** What remains of a deleted customer. */
export function deletedCustomer({ id }: Stripe.Customer): Stripe.DeletedCustomer {
  return { id, object: 'customer', deleted: true }
}

export function createPaymentMethodObject(
  made: Made,
  customer: string,
  type: 'card' | 'sepa_debit',
): Stripe.PaymentMethod {
  const address = null
  const common = {
    ...made,
    object: 'payment_method' as const,
    allow_redisplay: 'limited',
    billing_details: { address, email: null, name: null, phone: null, tax_id: null },
    customer,
    customer_account: null,
    metadata: {},
  }
  if (type === 'sepa_debit') {
    return {
      ...common,
      type,
      sepa_debit: {
        bank_code: '37040044',
        branch_code: '',
        country: 'DE',
        fingerprint: null,
        generated_from: null,
        last4: '3000',
      },
    }
  }
  return {
    ...common,
    type,
    card: {
      brand: 'visa',
      checks: null,
      country: 'US',
      display_brand: 'visa',
      exp_month: 12,
      exp_year: 2040,
      fingerprint: null,
      funding: 'credit',
      generated_from: null,
      last4: '4242',
      networks: { available: ['visa'], preferred: null },
      regulated_status: 'unregulated',
      three_d_secure_usage: { supported: true },
      wallet: null,
    },
  }
}
