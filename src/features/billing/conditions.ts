import type { ConditionList } from '../../platform/conditions/condition.ts'
import { highest, refusedDeliveries } from '../../platform/conditions/measure.ts'
import { gauge, type MetricList } from '../../platform/metrics/metrics.ts'
import type { Registry } from '../../platform/metrics/registry.ts'
import { countDeliveries } from '../../platform/metrics/request-metrics.ts'
import type { UnmatchedProduct } from './access/offers.ts'
import type { EventSearch } from './inbox/event-search.ts'
import { DELIVERY_CODES, WEBHOOK_PATH } from './model.ts'

type MetricsDeps = {
  eventSearch: EventSearch
  listUnmatched: () => Promise<UnmatchedProduct[]>
  registry: Registry
}

export const billingMetrics: MetricList<MetricsDeps> = {
  homeport_billing_deliveries_total: countDeliveries(
    'Deliveries from the billing provider, by response code',
    WEBHOOK_PATH,
    DELIVERY_CODES,
  ),
  homeport_billing_events_failed: gauge(
    'Billing events that could not be applied: see "homeport events list --failed"',
    ({ eventSearch }) => eventSearch.countFailed(),
  ),
  homeport_billing_products_unlocking_nothing: gauge(
    'Paid products that give no access: see "homeport plans unmatched"',
    async ({ listUnmatched }) =>
      (await listUnmatched()).filter(
        ({ environment, unlocks }) => environment === 'PRODUCTION' && !unlocks,
      ).length,
  ),
}

export const billingConditions: ConditionList = {
  'billing-events-failed': {
    title: 'Billing events could not be applied',
    advice: 'They are stored and retried. "homeport events list --failed" lists them.',
    severity: 'page',
    minutes: 15,
    measure: highest('homeport_billing_events_failed'),
    limit: { above: 0, unit: 'events' },
  },
  'paid-without-access': {
    title: 'Users pay for a product that unlocks nothing',
    advice: '"homeport plans unmatched" lists such products. Add them to a plan.',
    severity: 'page',
    minutes: 5,
    measure: highest('homeport_billing_products_unlocking_nothing'),
    limit: { above: 0, unit: 'products' },
  },
  'billing-refused': {
    title: "The billing provider's deliveries are refused",
    advice: `Code unauthenticated: the provider's token is not WEBHOOK_TOKEN. Run "homeport doctor" for details.`,
    severity: 'page',
    measure: refusedDeliveries('homeport_billing_deliveries_total', '!ok|duplicate|ignored|stray'),
    limit: { above: 0, unit: 'in two hours' },
  },
}
