import { type TSchema, t } from 'elysia'
import { checkedOnce } from '../../lib/validation.ts'
import { LanguageQuery } from '../../platform/http/language/local-text.ts'
import {
  closedObject,
  flag,
  integer,
  literalUnion,
  nullable,
  openEnum,
  text,
  time,
} from '../../platform/http/replies/envelope.ts'
import { ENVIRONMENTS } from './environment.ts'

const ms = (description: string, example: number) =>
  integer({ format: 'int64', description: `${description}, ms since 1970`, examples: [example] })

const BillingEvent = t.Object(
  {
    id: t.Optional(text('the id of the event, the same in every delivery', 'E1')),
    type: text('the type of the event', 'INITIAL_PURCHASE'),
    event_timestamp_ms: t.Optional(ms('when the provider generated it', 1_783_000_000_000)),
    app_user_id: t.Optional(
      text(
        'the `_id` that the app gave to the billing SDK',
        '01a1fecb-4162-75f8-b13e-d84fd1f88be2',
      ),
    ),
    environment: t.Optional(text('`PRODUCTION` or `SANDBOX`', 'PRODUCTION')),
    store: t.Optional(text('the store', 'APP_STORE')),
    product_id: t.Optional(text('the product', 'prod_example_pro')),
    entitlement_ids: t.Optional(
      t.Array(t.String(), { description: 'the entitlements it grants', examples: [['pro']] }),
    ),
    period_type: t.Optional(text('the type of the period', 'NORMAL')),
    purchased_at_ms: t.Optional(ms('when the period began', 1_783_000_000_000)),
    expiration_at_ms: t.Optional(ms('when the period ends', 1_785_600_000_000)),
    transaction_id: t.Optional(text('the id of this payment at the store', '2')),
    original_transaction_id: t.Optional(text('the id of the first payment at the store', '1')),
  },
  {
    additionalProperties: true,
    title: 'BillingEvent',
    description: 'an event from the billing provider',
  },
)

/** The documented part of a delivery. The provider may add fields at any time. */
export const BillingDelivery = t.Object(
  {
    api_version: t.Optional(text('the version of the format', '1.0')),
    event: BillingEvent,
  },
  {
    additionalProperties: true,
    title: 'BillingDelivery',
    description: 'a delivery from the billing provider; it may have additional fields',
  },
)

const productId = nullable(text('the product at the store', 'prod_example_pro'))
const store = nullable(
  openEnum(
    ['APP_STORE', 'MAC_APP_STORE', 'PLAY_STORE', 'AMAZON', 'STRIPE', 'RC_BILLING', 'PROMOTIONAL'],
    { description: 'the store' },
  ),
)
const periodType = nullable(
  openEnum(['NORMAL', 'TRIAL', 'INTRO', 'PROMOTIONAL', 'PREPAID', 'CONSUMABLE'], {
    description: 'the type of the current period',
  }),
)
const willRenew = flag('whether it renews automatically')

export const SubscriptionQuery = t.Object({
  environment: t.Optional(
    literalUnion(ENVIRONMENTS, {
      description: 'production or test purchases; production by default',
    }),
  ),
  ...LanguageQuery.properties,
})

export const OwnSubscriptionQuery = t.Object({
  ...SubscriptionQuery.properties,
  proof: t.Optional(
    flag('adds a signed `proof` of access, which an app can check without a connection'),
  ),
})

const Entitlement = closedObject(
  {
    id: text('the id at the billing provider, such as `pro`', 'pro'),
    active: flag('whether the user has access now'),
    expiresAt: nullable(time('when access ends; null: never')),
    gracePeriodExpiresAt: nullable(
      time('when the grace period after a failed payment ends; null: there is none'),
    ),
    productId,
    store,
    periodType,
    willRenew,
  },
  'Entitlement',
  'an entitlement that a purchase grants',
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
        'consumed',
      ],
      { description: 'the status of the purchase', example: 'active' },
    ),
    periodType,
    purchasedAt: nullable(time('when the current period began')),
    expiresAt: nullable(time('when the current period ends; null: never')),
    effectiveEndAt: nullable(time('when access ends, grace and refunds included; null: never')),
    willRenew,
    pendingProductId: t.Optional(text('the product after a pending change', 'prod_example_team')),
    cancelReason: t.Optional(
      openEnum(
        [
          'UNSUBSCRIBE',
          'BILLING_ERROR',
          'DEVELOPER_INITIATED',
          'PRICE_INCREASE',
          'CUSTOMER_SUPPORT',
          'DISPUTED',
          'UNKNOWN',
        ],
        { description: 'why it was cancelled' },
      ),
    ),
    unsubscribeDetectedAt: t.Optional(time('when it was cancelled')),
    billingIssueDetectedAt: t.Optional(time('when a payment failed')),
    refundedAt: t.Optional(time('when it was refunded')),
    autoResumeAt: t.Optional(time('when a pause ends')),
    isSandbox: t.Optional(flag('a test purchase, which gives access to testers in production')),
  },
  'SubscriptionLine',
  'a purchase',
)

const limit = (description: string, example: number) =>
  integer({ description, examples: [example] })

const Limits = closedObject(
  {
    seatLimit: limit('users', 5),
    appLimit: limit('apps', 10),
    keywordLimit: limit('keywords', 500),
    apiRequestLimit: limit('API requests per month', 10_000),
    competitorLimitPerApp: limit('competitors per app', 5),
    aiMonthlyCreditLimit: limit('AI credits per month', 100),
    storefrontLimit: limit('storefronts', 20),
  },
  'PlanLimits',
  'the limits of the plan',
)

export function createSubscriptionReply<Plan extends TSchema>(Plan: Plan) {
  return closedObject(
    {
      environment: openEnum(ENVIRONMENTS, {
        description: 'production or test purchases',
      }),
      entitlements: t.Array(Entitlement, {
        description: 'each entitlement once; check these for access',
      }),
      subscriptions: t.Array(SubscriptionLine, { description: 'the purchases, best first' }),
      plan: nullable(
        checkedOnce(Plan),
        'the plan of the best active purchase; without one, the plan `free`, or null if there is none',
      ),
      limits: nullable(Limits, 'the limits of the plan; null if there is no plan'),
      proof: t.Optional(
        text(
          'the user’s access, signed (JWS); only if requested',
          'eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiIwMWExIn0.c2lnbmF0dXJl',
        ),
      ),
    },
    'Subscription',
    'what a user has paid for',
  )
}

/** The subscriptions are added where the schema of plans is known. */
export const billingExport = {
  billingIds: t.Array(t.String(), {
    description: 'the app user ids under which the billing provider knows the user',
    examples: [['01a1fecb-4162-75f8-b13e-d84fd1f88be2']],
  }),
  billingEvents: t.Array(
    closedObject(
      {
        receivedAt: time('when it was received'),
        body: text('the event as text, without the data of other users', '{"event":{"id":"E1"}}'),
      },
      'ExportedBillingEvent',
      'an event from the billing provider',
    ),
    { description: 'the events from the billing provider, oldest first' },
  ),
}

export const billingTags = {
  Billing: 'What the signed-in user has paid for',
  Webhook: 'For the billing provider, not for apps',
}

export const WEBHOOK_PATH = '/api/webhooks/billing/v1'
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
