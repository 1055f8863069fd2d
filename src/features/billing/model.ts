import { t } from 'elysia'

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
