import { t } from 'elysia'
import { oneOf, strict } from '../../http/envelope.ts'
import { LanguageQuery } from '../../http/local-text.ts'

/** The documented part of a delivery. Unknown fields are welcome: the provider adds them at any time. */
export const BillingDelivery = t.Object(
  {
    api_version: t.Optional(t.String()),
    event: t.Object(
      {
        id: t.Optional(t.String()),
        type: t.String(),
        event_timestamp_ms: t.Optional(t.Integer({ description: 'ms since 1970' })),
      },
      { additionalProperties: true },
    ),
  },
  { additionalProperties: true },
)

const Time = t.String({ format: 'date-time' })
const TimeOrNever = t.Union([Time, t.Null()])
const NullableText = t.Union([t.String(), t.Null()])

export const SubscriptionQuery = t.Object({
  environment: t.Optional(oneOf('production', 'sandbox')),
  ...LanguageQuery.properties,
})

const Entitlement = strict(
  {
    id: t.String(),
    active: t.Boolean(),
    expiresAt: TimeOrNever,
    gracePeriodExpiresAt: TimeOrNever,
    productId: NullableText,
    store: NullableText,
    periodType: NullableText,
    willRenew: t.Boolean(),
  },
  'Entitlement',
)

const SubscriptionLine = strict(
  {
    productId: NullableText,
    priceId: t.Optional(t.String()),
    store: NullableText,
    status: t.String({
      description:
        'trialing, active, in_grace_period, in_billing_retry, paused, expired or refunded',
    }),
    periodType: NullableText,
    purchasedAt: TimeOrNever,
    expiresAt: TimeOrNever,
    effectiveEndAt: TimeOrNever,
    willRenew: t.Boolean(),
    pendingProductId: t.Optional(t.String()),
    cancelReason: t.Optional(t.String()),
    unsubscribeDetectedAt: t.Optional(Time),
    billingIssueDetectedAt: t.Optional(Time),
    refundedAt: t.Optional(Time),
    autoResumeAt: t.Optional(Time),
  },
  'SubscriptionLine',
)

export const SubscriptionReply = strict(
  {
    environment: t.String({ examples: ['production', 'sandbox'] }),
    entitlements: t.Array(Entitlement),
    subscriptions: t.Array(SubscriptionLine),
    plan: t.Union([t.Object({}, { additionalProperties: true }), t.Null()]),
    limits: t.Union([t.Object({}, { additionalProperties: t.Number() }), t.Null()]),
  },
  'Subscription',
)

export const billingTags = { Billing: 'What the billing provider reports' }
export const billingPlainPaths = ['/api/webhooks/billing/v1']
