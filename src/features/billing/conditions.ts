import type { Condition } from '../../platform/conditions/condition.ts'
import { highest, refusedDeliveries } from '../../platform/conditions/measure.ts'

/** What needs attention about the billing provider. */
export const billingConditions: Condition[] = [
  {
    name: 'billing-events-failed',
    title: 'Billing events could not be applied',
    advice: 'They are stored and retried. "homeport events list --failed" lists them.',
    severity: 'page',
    minutes: 15,
    measure: highest('homeport_billing_events_failed'),
    limit: { above: 0 },
    unit: 'events',
  },
  {
    name: 'billing-refused',
    title: "The billing provider's deliveries are refused",
    advice: `Code unauthenticated: the provider's token is not WEBHOOK_TOKEN. "homeport doctor" says more.`,
    severity: 'page',
    minutes: 0,
    measure: refusedDeliveries('homeport_billing_deliveries_total', '!ok|duplicate|ignored|stray'),
    limit: { above: 0 },
    unit: 'in two hours',
  },
]
