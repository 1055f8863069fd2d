import { t } from 'elysia'
import {
  closedObject,
  flag,
  integer,
  literalUnion,
  nullable,
  text,
  time,
} from '../../../platform/http/replies/envelope.ts'
import { ENVIRONMENTS } from '../../billing/environment.ts'

export const STRIPE_PATH = '/api/webhooks/stripe/v1'

const RETURN_ADDRESS = { maxLength: 2_000, examples: ['https://app.example.com/plans'] }

const checkoutEnvironment = t.Optional(
  literalUnion(ENVIRONMENTS, { description: 'the sandbox for tests; production by default' }),
)

export const CheckoutRequest = closedObject(
  {
    plan: text('the `code` of the plan', 'pro_month', { maxLength: 100 }),
    successUrl: t.String({
      ...RETURN_ADDRESS,
      description: 'where the user returns after paying; Stripe adds `session_id`',
    }),
    cancelUrl: t.String({
      ...RETURN_ADDRESS,
      description: 'where the user returns without paying',
    }),
    quantity: t.Optional(
      integer({
        minimum: 1,
        maximum: 100_000,
        description: 'how many units, such as seats',
        examples: [1],
      }),
    ),
    environment: checkoutEnvironment,
    allowSecond: t.Optional(
      flag('sell although a subscription in another store renews; ask the user first', false),
    ),
  },
  'CheckoutRequest',
  'a plan to sell by card',
)

export const CheckoutReply = closedObject(
  {
    url: text('Stripe’s page', 'https://checkout.stripe.com/c/pay/cs_1'),
    sessionId: text('the id of the checkout session', 'cs_test_a1b2c3'),
    expiresAt: time('when the page expires'),
    trialDays: integer({ description: 'the length of the free trial; 0 for none', examples: [7] }),
    overlapUntil: nullable(
      time('when access from elsewhere that does not renew ends; null for none'),
    ),
  },
  'Checkout',
  'a page on which the user pays',
)

export const PortalRequest = closedObject(
  {
    returnUrl: t.String({ ...RETURN_ADDRESS, description: 'where the user returns' }),
    flow: t.Optional(
      literalUnion(['cancel', 'change', 'payment_method'], {
        description: 'what the page begins with; an overview by default',
      }),
    ),
    environment: checkoutEnvironment,
  },
  'PortalRequest',
  'a visit to the customer portal',
)

export const PortalReply = closedObject(
  {
    url: text('Stripe’s page', 'https://billing.stripe.com/p/session/1'),
  },
  'PortalLink',
  'a page on which the user changes or cancels a subscription',
)

/** The body that Stripe posts. Stripe may add fields. */
export const StripeEvent = t.Object(
  {
    id: text('the id of the event', 'evt_1'),
    type: text('the type of the event', 'invoice.paid'),
  },
  { additionalProperties: true, title: 'StripeEvent', description: 'an event from Stripe' },
)
