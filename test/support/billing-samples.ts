/** Fields that almost every event has, named as the provider names them. */
const COMMON = {
  app_id: 'app0homeport',
  app_user_id: '01900000-0000-7000-8000-000000000001',
  original_app_user_id: '$RCAnonymousID:0123456789abcdef0123456789abcdef',
  aliases: ['01900000-0000-7000-8000-000000000001'],
  country_code: 'DE',
  currency: 'EUR',
  subscriber_attributes: { $email: { value: 'ann@example.com', updated_at_ms: 1_783_000_000_000 } },
}
const PURCHASED = 1_785_600_000_000
const DAY = 86_400_000

/** The fields of a subscription by store. */
const STORES = {
  apple: {
    store: 'APP_STORE',
    product_id: 'com.example.pro.monthly',
    original_transaction_id: '700000000000001',
    is_family_share: false,
  },
  google: {
    store: 'PLAY_STORE',
    product_id: 'pro:monthly',
    original_transaction_id: 'GPA.7000-0000-0000-00001',
    presented_offering_id: null,
  },
  stripe: {
    store: 'STRIPE',
    product_id: 'prod_example_pro',
    original_transaction_id: 'si_example0000001',
    environment: 'SANDBOX',
  },
  promotion: {
    store: 'PROMOTIONAL',
    product_id: 'rc_promo_pro_daily',
    original_transaction_id: '0123456789abcdef0123456789abcdef',
    period_type: 'PROMOTIONAL',
    price: 0,
  },
}

type Fields = Record<string, unknown>
type Sample = Fields & { type: string }

function lifecycle(type: string, store: keyof typeof STORES, fields: Fields = {}): Sample {
  return {
    ...COMMON,
    type,
    environment: 'PRODUCTION',
    period_type: 'NORMAL',
    entitlement_id: null,
    entitlement_ids: ['pro'],
    purchased_at_ms: PURCHASED,
    expiration_at_ms: PURCHASED + 30 * DAY,
    price: 9.99,
    price_in_purchased_currency: 9.49,
    takehome_percentage: 0.7,
    tax_percentage: 0.1597,
    commission_percentage: 0.1261,
    ...STORES[store],
    transaction_id: STORES[store].original_transaction_id,
    ...fields,
  }
}

const ended = { price: 0, expiration_at_ms: PURCHASED + DAY }
const EVENTS: Sample[] = [
  lifecycle('INITIAL_PURCHASE', 'apple', { is_trial_conversion: false }),
  lifecycle('INITIAL_PURCHASE', 'apple', { aliases: ['a', 'b'], offer_code: 'SUMMER' }),
  lifecycle('INITIAL_PURCHASE', 'google', { period_type: 'TRIAL', price: 0 }),
  lifecycle('INITIAL_PURCHASE', 'stripe', { period_type: 'TRIAL', price: 0 }),
  lifecycle('RENEWAL', 'apple', { is_trial_conversion: true, renewal_number: 2 }),
  lifecycle('RENEWAL', 'google'),
  lifecycle('RENEWAL', 'stripe'),
  lifecycle('NON_RENEWING_PURCHASE', 'apple', { expiration_at_ms: null, price: 25.487 }),
  lifecycle('NON_RENEWING_PURCHASE', 'promotion'),
  lifecycle('CANCELLATION', 'apple', { cancel_reason: 'UNSUBSCRIBE', price: 0 }),
  lifecycle('CANCELLATION', 'apple', { cancel_reason: 'CUSTOMER_SUPPORT', price: -9.99 }),
  lifecycle('CANCELLATION', 'apple', { cancel_reason: 'PRICE_INCREASE', price: 0 }),
  lifecycle('CANCELLATION', 'google', { cancel_reason: 'UNSUBSCRIBE', period_type: 'TRIAL' }),
  lifecycle('CANCELLATION', 'stripe', { cancel_reason: 'BILLING_ERROR', price: 0 }),
  lifecycle('CANCELLATION', 'promotion', { cancel_reason: 'DEVELOPER_INITIATED' }),
  lifecycle('UNCANCELLATION', 'apple', { price: 0 }),
  lifecycle('UNCANCELLATION', 'google', { price: 0 }),
  lifecycle('BILLING_ISSUE', 'apple', { grace_period_expiration_at_ms: PURCHASED + 33 * DAY }),
  lifecycle('BILLING_ISSUE', 'apple', { grace_period_expiration_at_ms: null, price: 0 }),
  lifecycle('BILLING_ISSUE', 'stripe', { grace_period_expiration_at_ms: null, price: 0 }),
  lifecycle('EXPIRATION', 'apple', { expiration_reason: 'UNSUBSCRIBE', ...ended }),
  lifecycle('EXPIRATION', 'google', { expiration_reason: 'SUBSCRIPTION_PAUSED', ...ended }),
  lifecycle('EXPIRATION', 'stripe', { expiration_reason: 'BILLING_ERROR', ...ended }),
  lifecycle('EXPIRATION', 'promotion', { expiration_reason: 'UNSUBSCRIBE', ...ended }),
  lifecycle('SUBSCRIPTION_PAUSED', 'google', { auto_resume_at_ms: PURCHASED + 60 * DAY }),
  lifecycle('SUBSCRIPTION_PAUSED', 'google', { entitlement_ids: null, auto_resume_at_ms: null }),
  lifecycle('SUBSCRIPTION_EXTENDED', 'apple', { expiration_at_ms: PURCHASED + 40 * DAY, price: 0 }),
  lifecycle('PRODUCT_CHANGE', 'apple', { new_product_id: 'com.example.pro.yearly', price: 0 }),
  lifecycle('PRODUCT_CHANGE', 'google', { new_product_id: 'pro:yearly', price: 0 }),
  lifecycle('REFUND_REVERSED', 'apple', { price: 9.99 }),
  lifecycle('INVOICE_ISSUANCE', 'stripe', {
    store: 'RC_BILLING',
    entitlement_ids: null,
    period_type: null,
    original_transaction_id: null,
  }),
  lifecycle('TEST', 'google', { entitlement_ids: null, price: null, environment: 'SANDBOX' }),
  {
    type: 'TEMPORARY_ENTITLEMENT_GRANT',
    app_user_id: 'another-user',
    store: 'APP_STORE',
    product_id: 'com.example.pro.monthly',
    purchased_at_ms: PURCHASED,
    expiration_at_ms: PURCHASED + DAY,
    transaction_id: '700000000000009',
  },
  {
    type: 'TRANSFER',
    environment: 'PRODUCTION',
    store: 'APP_STORE',
    transferred_from: ['01900000-0000-7000-8000-000000000001'],
    transferred_to: ['01900000-0000-7000-8000-000000000002'],
  },
  {
    type: 'PURCHASE_REDEEMED',
    store: 'RC_BILLING',
    environment: 'PRODUCTION',
    redemption_outcome: 'alias',
    redeemed_from: ['web-visitor'],
    redeemed_by: ['01900000-0000-7000-8000-000000000001'],
    product_id: 'pro_monthly',
    entitlement_ids: ['pro'],
  },
  { ...COMMON, type: 'SUBSCRIBER_ALIAS', aliases: ['one', 'other'] },
  { ...COMMON, type: 'EXPERIMENT_ENROLLMENT', experiment_id: 'prexp1', experiment_variant: 'b' },
  {
    ...COMMON,
    type: 'VIRTUAL_CURRENCY_TRANSACTION',
    store: 'APP_STORE',
    product_id: 'coins_100',
    adjustments: [{ amount: 100, currency: { code: 'COIN', name: 'Coins' } }],
  },
  { type: 'PAYWALL_COMPONENT_INTERACTED', environment: 'SANDBOX', paywall_id: 'pw1' },
]

/** One delivery for every documented type and store. */
export const billingSamples = EVENTS.map((event, at) => ({
  api_version: '1.0',
  event: { id: `SAMPLE-${at}`, event_timestamp_ms: PURCHASED + at * 1_000, ...event },
}))
