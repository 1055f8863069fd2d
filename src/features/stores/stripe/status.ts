import {
  ENVIRONMENTS,
  type StoredEnvironment,
  storedEnvironment,
} from '../../billing/environment.ts'
import type { StoreApp } from '../checks/apps.ts'
import { checkSet, findProblem, notificationUrl, type StoreCheck } from '../checks/store-check.ts'
import { toList } from '../json.ts'
import type { Prices } from './api/prices.ts'
import type { StripeContext } from './context.ts'
import { EVENT_TYPES } from './events/notification.ts'
import { STRIPE_PATH } from './model.ts'

export type StripeStatus = ReturnType<typeof createStripeStatus>

const NO_SECRET =
  'Set STRIPE_WEBHOOK_SECRET to the signing secret of the webhook. Without it, a purchase may take an hour to appear.'

/** The permissions that `stores check` tries: reading needs the same ones as normal operation. */
const PERMISSIONS = {
  customers: 'Customers',
  subscriptions: 'Subscriptions',
  subscription_schedules: 'Subscription schedules',
  'checkout/sessions': 'Checkout Sessions',
  invoices: 'Invoices',
  invoice_payments: 'Invoice payments',
  charges: 'Charges',
  refunds: 'Refunds',
  disputes: 'Disputes',
  events: 'Events',
  prices: 'Prices',
  'billing_portal/configurations': 'Customer portal',
}

export function stripeApp(environment: StoredEnvironment): StoreApp {
  return { store: 'stripe', bundleId: '', environment }
}

export function createStripeStatus(
  deps: StripeContext & { prices: Prices; secrets: Record<StoredEnvironment, string[]> },
) {
  const { api, objects, prices, storeApps, secrets, publicUrl, now } = deps
  const environments = ENVIRONMENTS.map(storedEnvironment).filter(api.hasKey)
  const webhookUrl = notificationUrl(publicUrl, STRIPE_PATH)
  return { read, check, readLag }

  /** Times are ISO 8601. */
  async function read() {
    const described = []
    for (const environment of environments) {
      const { lastNotificationAt, completeUntil } = await storeApps.read(stripeApp(environment))
      described.push({
        environment: environment.toLowerCase(),
        lastNotificationAt: lastNotificationAt?.toISOString() ?? null,
        completeUntil: completeUntil?.toISOString() ?? null,
      })
    }
    return {
      url: webhookUrl,
      serverId: deps.serverId,
      eventTypes: EVENT_TYPES,
      environments: described,
      waiting: await objects.countDue(),
      priceProblems: prices.lastProblems(),
    }
  }

  /** Tries each permission of the keys, and compares the webhook and the prices with what is needed. */
  async function check(): Promise<StoreCheck[]> {
    const checks = [checkSet('Webhook URL', webhookUrl)]
    for (const environment of environments) {
      const name = `Stripe ${environment.toLowerCase()}`
      for (const [path, permission] of Object.entries(PERMISSIONS)) {
        const fault = await findProblem(
          async () => void (await api.call(environment, path, { params: { limit: 1 } })),
        )
        checks.push({ what: `${name}: ${permission}`, fault })
      }
      const fault = secrets[environment].length === 0 ? NO_SECRET : null
      checks.push({
        what: `${name}: webhook`,
        fault: fault ?? (await findWebhookProblem(environment)),
      })
    }
    if (api.hasKey('PRODUCTION')) {
      const fault = await findProblem(async () => {
        const problems = await prices.findProblems()
        if (problems.length > 0) throw new Error(problems.join(' '))
      })
      checks.push({ what: 'Stripe: prices', fault })
    }
    return checks
  }

  function findWebhookProblem(environment: StoredEnvironment) {
    return findProblem(async () => {
      const { data } = await api.call(environment, 'webhook_endpoints', { params: { limit: 100 } })
      const endpoint = toList(data).find(({ url }) => url === webhookUrl)
      if (!endpoint) throw new Error('Stripe has no webhook with the URL above.')
      if (endpoint['status'] !== 'enabled') throw new Error('The webhook is disabled at Stripe.')
      const enabled = endpoint['enabled_events']
      const types = Array.isArray(enabled) ? enabled : []
      const missing = EVENT_TYPES.filter((type) => !types.includes(type) && !types.includes('*'))
      if (missing.length > 0) throw new Error(`The webhook lacks the events ${missing.join(', ')}.`)
    })
  }

  /** Over how many seconds events may be missing, in production; null before the first run. */
  async function readLag(): Promise<number | null> {
    if (!api.hasKey('PRODUCTION')) return null
    const { completeUntil } = await storeApps.read(stripeApp('PRODUCTION'))
    return completeUntil && Math.round((now().getTime() - completeUntil.getTime()) / 1000)
  }
}
