import type { ConditionList } from '../../../platform/conditions/condition.ts'
import { highest, refusedDeliveries } from '../../../platform/conditions/measure.ts'
import { gauge, type MetricList } from '../../../platform/metrics/metrics.ts'
import type { Registry } from '../../../platform/metrics/registry.ts'
import { countDeliveries } from '../../../platform/metrics/request-metrics.ts'
import { DELIVERY_CODES } from '../../billing/model.ts'
import type { Stores } from '../stores.ts'
import { STRIPE_PATH } from './model.ts'

type Needs = { stores: Pick<Stores, 'stripe'>; registry: Registry }

const REFUSED = 'malformed_request|unauthenticated|unavailable|webhook_not_configured'

export const stripeMetrics: MetricList<Needs> = {
  homeport_stripe_deliveries_total: countDeliveries(
    'Events from Stripe, by response code',
    STRIPE_PATH,
    DELIVERY_CODES,
  ),
  homeport_stripe_key_refused: gauge(
    '1 when Stripe refused the API key at the last call in production',
    ({ stores }) => stores.stripe?.api.isKeyRefused() ?? null,
  ),
  homeport_stripe_events_lag_seconds: gauge(
    "How far behind Homeport is in reading Stripe's events, in production; absent before the first time",
    async ({ stores }) => (await stores.stripe?.status.readLag()) ?? null,
  ),
  homeport_stripe_waiting: gauge(
    'Subscriptions and charges due to be refreshed from Stripe',
    async ({ stores }) => (await stores.stripe?.objects.countDue()) ?? null,
  ),
  homeport_stripe_deletions_waiting: gauge(
    'Customers of deleted users that Stripe may still charge',
    async ({ stores }) => (await stores.stripe?.objects.countDeletions()) ?? null,
  ),
  homeport_stripe_doubled_users: gauge(
    'Users who have one product in two subscriptions at Stripe, in production',
    async ({ stores }) => (await stores.stripe?.problems.countDoubled()) ?? null,
  ),
  homeport_stripe_refunded_renewing: gauge(
    'Refunded subscriptions that Stripe will charge again, in production',
    async ({ stores }) => (await stores.stripe?.problems.countRefunded()) ?? null,
  ),
  homeport_stripe_price_problems: gauge(
    'Plans that are sold by card at another price than they show, or cannot be sold',
    ({ stores }) => stores.stripe?.prices.lastProblems().length ?? null,
  ),
}

export const stripeConditions: ConditionList = {
  'stripe-refused': {
    title: 'Events from Stripe are refused',
    advice:
      'Code unauthenticated: set STRIPE_WEBHOOK_SECRET to the signing secret of the webhook, and STRIPE_SANDBOX_WEBHOOK_SECRET to that of a sandbox.',
    severity: 'page',
    measure: refusedDeliveries('homeport_stripe_deliveries_total', REFUSED),
    limit: { above: 10, unit: 'in two hours' },
  },
  'stripe-key-refused': {
    title: 'Stripe refuses the API key',
    advice: '"homeport stores check" names the permission that is missing.',
    severity: 'page',
    minutes: 15,
    measure: highest('homeport_stripe_key_refused'),
    limit: { above: 0 },
  },
  'stripe-events-old': {
    title: "Stripe's events have not been read",
    advice: 'Lost events are not found. "homeport stores catch-up" reports the error.',
    severity: 'warn',
    measure: highest('homeport_stripe_events_lag_seconds', { per: 3_600 }),
    limit: { above: 6, unit: 'hours' },
  },
  'stripe-queue-long': {
    title: 'Many subscriptions are waiting for Stripe',
    advice: 'Stripe is busy or limits requests: the log says which.',
    severity: 'warn',
    minutes: 30,
    measure: highest('homeport_stripe_waiting'),
    limit: { above: 1_000, unit: 'subscriptions' },
  },
  'stripe-deletion-waiting': {
    title: 'Stripe may still charge deleted users',
    advice: 'Their customers could not be deleted at Stripe: the log says why.',
    severity: 'page',
    minutes: 30,
    measure: highest('homeport_stripe_deletions_waiting'),
    limit: { above: 0, unit: 'customers' },
  },
  'stripe-doubled': {
    title: 'Users pay twice for a product at Stripe',
    advice: '"homeport purchases list --doubled" lists them. Cancel and refund one of the two.',
    severity: 'warn',
    minutes: 30,
    measure: highest('homeport_stripe_doubled_users'),
    limit: { above: 0, unit: 'users' },
  },
  'stripe-refunded-renewing': {
    title: 'Refunded subscriptions will be charged again',
    advice:
      'A refund does not end a subscription at Stripe: cancel it with "homeport purchases cancel".',
    severity: 'warn',
    minutes: 30,
    measure: highest('homeport_stripe_refunded_renewing'),
    limit: { above: 0, unit: 'subscriptions' },
  },
  'stripe-price-differs': {
    title: 'Plans show another price than Stripe charges',
    advice: '"homeport stores check" names the plans.',
    severity: 'warn',
    measure: highest('homeport_stripe_price_problems'),
    limit: { above: 0, unit: 'plans' },
  },
}
