import { type TSchema, t } from 'elysia'
import {
  closedObject,
  integer,
  nullable,
  oneOf,
  openEnum,
  time,
} from '../../platform/http/envelope.ts'
import { LanguageQuery } from '../../platform/http/local-text.ts'

const text = (description: string, example: string) =>
  t.String({ description, examples: [example] })
const ms = (description: string, example: number) =>
  integer({ format: 'int64', description: `${description}, ms since 1970`, examples: [example] })

const BillingEvent = t.Object(
  {
    id: t.Optional(text('the same for every delivery of one event', 'E1')),
    type: text('what has happened', 'INITIAL_PURCHASE'),
    event_timestamp_ms: t.Optional(ms('when it happened', 1_783_000_000_000)),
    app_user_id: t.Optional(
      text(
        'the `_id` that the app gave to the billing SDK',
        '01a1fecb-4162-75f8-b13e-d84fd1f88be2',
      ),
    ),
    environment: t.Optional(text('`PRODUCTION` or `SANDBOX`', 'PRODUCTION')),
    store: t.Optional(text('where it was bought', 'APP_STORE')),
    product_id: t.Optional(text('what was bought', 'prod_example_pro')),
    entitlement_ids: t.Optional(
      t.Array(t.String(), { description: 'what it gives access to', examples: [['pro']] }),
    ),
    period_type: t.Optional(text('the kind of the period', 'NORMAL')),
    purchased_at_ms: t.Optional(ms('when the period began', 1_783_000_000_000)),
    expiration_at_ms: t.Optional(ms('when it ends', 1_785_600_000_000)),
    transaction_id: t.Optional(text('this payment at the store', '2')),
    original_transaction_id: t.Optional(text('the first payment of the purchase', '1')),
  },
  {
    additionalProperties: true,
    title: 'BillingEvent',
    description: 'an event as the billing provider sends it',
  },
)

/** The documented part of a delivery. Unknown fields are welcome: the provider adds them at any time. */
export const BillingDelivery = t.Object(
  {
    api_version: t.Optional(text('the version of the format', '1.0')),
    event: BillingEvent,
  },
  {
    additionalProperties: true,
    title: 'BillingDelivery',
    description: 'what the billing provider posts; it may hold more',
  },
)

const productId = nullable(text('the product at the store', 'prod_example_pro'))
const store = nullable(
  openEnum(
    ['APP_STORE', 'MAC_APP_STORE', 'PLAY_STORE', 'AMAZON', 'STRIPE', 'RC_BILLING', 'PROMOTIONAL'],
    { description: 'where it was bought' },
  ),
)
const periodType = nullable(
  openEnum(['NORMAL', 'TRIAL', 'INTRO', 'PROMOTIONAL', 'PREPAID'], {
    description: 'the kind of the current period',
  }),
)
const willRenew = t.Boolean({ description: 'whether it goes on by itself', examples: [true] })

export const SubscriptionQuery = t.Object({
  environment: t.Optional(
    oneOf(['production', 'sandbox'], { description: 'whose purchases; production by default' }),
  ),
  ...LanguageQuery.properties,
})

const Entitlement = closedObject(
  {
    id: text('what was paid for, as the billing provider names it', 'pro'),
    active: t.Boolean({ description: 'whether the person has access now', examples: [true] }),
    expiresAt: nullable(time('until when; null: for ever')),
    gracePeriodExpiresAt: nullable(
      time('until when a failed payment is tolerated; null: it is not'),
    ),
    productId,
    store,
    periodType,
    willRenew,
  },
  'Entitlement',
  'something that was paid for',
)

const SubscriptionLine = closedObject(
  {
    productId,
    priceId: t.Optional(text('the price at the billing provider', 'price_example_pro_month')),
    store,
    status: openEnum(
      [
        'trialing',
        'active',
        'in_grace_period',
        'in_billing_retry',
        'paused',
        'expired',
        'refunded',
      ],
      { description: 'how the purchase stands', example: 'active' },
    ),
    periodType,
    purchasedAt: nullable(time('when the current period was bought')),
    expiresAt: nullable(time('when the current period ends; null: never')),
    effectiveEndAt: nullable(time('when access ends, grace and refunds included; null: never')),
    willRenew,
    pendingProductId: t.Optional(text('the product that follows', 'prod_example_team')),
    cancelReason: t.Optional(
      openEnum(
        [
          'UNSUBSCRIBE',
          'BILLING_ERROR',
          'DEVELOPER_INITIATED',
          'PRICE_INCREASE',
          'CUSTOMER_SUPPORT',
          'UNKNOWN',
        ],
        { description: 'why it does not go on' },
      ),
    ),
    unsubscribeDetectedAt: t.Optional(time('when it was cancelled')),
    billingIssueDetectedAt: t.Optional(time('when a payment failed')),
    refundedAt: t.Optional(time('when the money was given back')),
    autoResumeAt: t.Optional(time('when a pause ends')),
  },
  'SubscriptionLine',
  'a purchase as it stands',
)

const limit = (description: string, example: number) =>
  integer({ description, examples: [example] })

const Limits = closedObject(
  {
    seatLimit: limit('people that may use it', 5),
    appLimit: limit('apps', 10),
    keywordLimit: limit('keywords', 500),
    apiRequestLimit: limit('API requests a month', 10_000),
    competitorLimitPerApp: limit('competitors of each app', 5),
    aiMonthlyCreditLimit: limit('AI credits a month', 100),
    storefrontLimit: limit('storefronts', 20),
  },
  'PlanLimits',
  'how much the plan allows',
)

/** What a person has paid for, with the pricing plan as `Plan` describes it. */
export function SubscriptionReplyOf<Plan extends TSchema>(Plan: Plan) {
  return closedObject(
    {
      environment: openEnum(['production', 'sandbox'], { description: 'whose purchases' }),
      entitlements: t.Array(Entitlement, { description: 'each once; look here for access' }),
      subscriptions: t.Array(SubscriptionLine, { description: 'the purchases, the best first' }),
      plan: nullable(Plan, 'what the best active purchase buys, else the plan `free`, else null'),
      limits: nullable(Limits, 'what the plan allows; null without a plan'),
    },
    'Subscription',
    'what a person has paid for',
  )
}

export const billingTags = {
  Billing: 'What the signed-in person has paid for',
  Webhook: 'For the billing provider, not for apps',
}

/** Where the billing provider delivers. */
export const WEBHOOK_PATH = '/api/webhooks/billing/v1'
/** What a delivery is answered with. */
export const DELIVERY_CODES = [
  'ok',
  'duplicate',
  'ignored',
  'malformed_request',
  'unauthenticated',
  'payload_too_large',
  'unsupported_media_type',
  'webhook_not_configured',
  'unavailable',
  'internal_error',
] as const
export const billingPlainPaths = [WEBHOOK_PATH]
