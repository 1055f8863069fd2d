import type { Tx } from '../../../platform/db/db.ts'
import {
  type Environment,
  type StoredEnvironment,
  storedEnvironment,
} from '../../billing/environment.ts'
import { createStripeApi } from './api/api.ts'
import { createPrices } from './api/prices.ts'
import { createCheckout } from './checkout/checkout.ts'
import { createCustomers } from './checkout/customers.ts'
import { createPortal } from './checkout/portal.ts'
import { createStripeSubmissions } from './checkout/submissions.ts'
import type { StripeContext } from './context.ts'
import type { Target } from './events/notification.ts'
import { createPaymentProblems } from './payment-problems.ts'
import { createStripePurchases } from './purchases.ts'
import { createStripeCatchUp } from './refresh/catch-up.ts'
import { createCharges } from './refresh/charges.ts'
import { createStripeQueue } from './refresh/queue.ts'
import { createRefresh } from './refresh/refresh.ts'
import { createStripeStatus, stripeApp } from './status.ts'

type StripeDeps = Omit<StripeContext, 'api'>

export type Stripe = NonNullable<ReturnType<typeof createStripe>>

/** Null if there is no key. */
export function createStripe(deps: StripeDeps) {
  const { settings, objects, storeApps } = deps
  const keys = { PRODUCTION: settings.stripeKey, SANDBOX: settings.stripeSandboxKey }
  const secrets = { PRODUCTION: settings.stripeSecrets, SANDBOX: settings.stripeSandboxSecrets }
  if (keys.PRODUCTION === null && keys.SANDBOX === null) return null
  const api = createStripeApi({ keys, url: settings.stripeApiUrl })
  const context = { ...deps, api }
  const customers = createCustomers(context)
  const charges = createCharges(context)
  const refresh = createRefresh({ ...context, customers, charges })
  const queue = createStripeQueue({ ...context, refresh })
  const prices = createPrices(context)
  return {
    api,
    objects,
    queue,
    customers,
    secrets,
    prices,
    hasKey: (environment: Environment) => api.hasKey(storedEnvironment(environment)),
    submit: createStripeSubmissions({ ...context, customers, queue }),
    checkout: createCheckout({ ...context, customers, prices }),
    portal: createPortal({ ...context, customers }),
    status: createStripeStatus({ ...context, prices, secrets }),
    problems: createPaymentProblems(context),
    ...createStripeCatchUp(context),
    apply,
    markNotified,
    ...createStripePurchases({ ...context, queue }),
  }

  /** Runs in the transaction that stores an event. */
  async function apply(tx: Tx, environment: StoredEnvironment, target: Target | null) {
    if (target !== null) await objects.enqueue(tx, environment, target)
  }

  async function markNotified(environment: StoredEnvironment) {
    await storeApps.markNotified(stripeApp(environment))
  }
}
