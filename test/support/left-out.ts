import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** The features that `docs/leaving-out.md` lists, each with its routes that have a tag of another feature. */
const OPTIONAL: Record<string, string[]> = {
  alerts: [],
  data: [],
  stores: [
    '/api/user/billing_portal/v1',
    '/api/user/checkout/v1',
    '/api/user/purchases/v1',
    '/api/webhooks/app-store/v1',
    '/api/webhooks/play/v1',
    '/api/webhooks/stripe/v1',
  ],
  usage: [],
  'users/import': [],
  webhooks: [],
}

const leftOut = Object.keys(OPTIONAL).filter(
  (feature) => !existsSync(join(import.meta.dir, '../../src/features', feature)),
)

/** Whether this is a fork without one of these features: only then may their parts be missing. */
export const isFeatureLeftOut = leftOut.length > 0

/** The routes that such a fork lacks even though it has other routes with the same tags. */
export const ROUTES_LEFT_OUT = leftOut.flatMap((feature) => OPTIONAL[feature])
