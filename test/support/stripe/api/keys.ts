import { StripeApiError } from './errors.ts'

/** What a restricted key may do with a kind of object; writing includes reading. */
export type Access = 'read' | 'write'

/** The resources of restricted keys: the Dashboard's names by Stripe's own. */
const RESOURCES = {
  customer: 'Customers',
  checkout_session: 'Checkout Sessions',
  customer_portal: 'Customer portal',
  subscription: 'Subscriptions',
  subscription_schedule: 'Subscription schedules',
  plan: 'Prices',
  invoice: 'Invoices',
  payment_intent: 'Payment Intents',
  payment_method: 'Payment Methods',
  product: 'Products',
  charge: 'Charges and Refunds',
  dispute: 'Disputes',
  event: 'Events',
  webhook: 'Webhook Endpoints, Event Destinations',
}
export type Resource = keyof typeof RESOURCES
export type Permissions = Partial<Record<Resource, Access>>

/** The permissions that Homeport's documentation requires. */
export const HOMEPORT_PERMISSIONS: Permissions = {
  customer: 'write',
  checkout_session: 'write',
  customer_portal: 'write',
  subscription: 'write',
  plan: 'read',
  subscription_schedule: 'read',
  invoice: 'read',
  charge: 'read',
  dispute: 'read',
  event: 'read',
  webhook: 'read',
}

/** `permissions` is null for a secret key, which may do everything. */
export type ApiKey = { key: string; isLive: boolean; permissions: Permissions | null }
export type Keys = ReturnType<typeof createKeys>

const ACCOUNT = 'acct_1Fake00000000000'

export function createKeys() {
  const known = new Map<string, ApiKey>()
  const expired = new Set<string>()
  let count = 0
  return {
    live: { secret: add(true), restricted: add(true, HOMEPORT_PERMISSIONS) },
    test: { secret: add(false), restricted: add(false, HOMEPORT_PERMISSIONS) },
    add,
    expire,
    identify,
    authorize,
  }

  /** A new secret key, or with `permissions` a restricted one. */
  function add(isLive: boolean, permissions: Permissions | null = null): string {
    const kind = `${permissions === null ? 'sk' : 'rk'}_${isLive ? 'live' : 'test'}`
    const key = `${kind}_51Fake${String(++count).padStart(18, '0')}`
    known.set(key, { key, isLive, permissions })
    return key
  }

  function expire(key: string) {
    expired.add(key)
  }

  function identify(header: string | null): ApiKey {
    const [, key] = /^Bearer (.+)$/.exec(header ?? '') ?? []
    if (key === undefined) throw unauthorized('You did not provide an API key.')
    const shown = hide(key)
    if (expired.has(key))
      throw unauthorized(`Expired API Key provided: ${shown}`, 'api_key_expired')
    const found = known.get(key)
    if (found === undefined) throw unauthorized(`Invalid API Key provided: ${shown}`)
    return found
  }

  function authorize({ key, permissions }: ApiKey, resource: Resource, access: Access) {
    if (permissions === null) return
    const granted = permissions[resource]
    if (granted === 'write' || granted === access) return
    const name = `${RESOURCES[resource]} ${access === 'read' ? 'Read' : 'Write'}`
    throw new StripeApiError({
      status: 403,
      message: `The provided key '${hide(key)}' does not have the required permissions for this endpoint on account '${ACCOUNT}'. Enabling ${name} ('rak_${resource}_${access}') permissions on this key would allow this request to continue.`,
    })
  }
}

function unauthorized(message: string, code?: string): StripeApiError {
  return new StripeApiError({ status: 401, message, ...(code === undefined ? {} : { code }) })
}

function hide(key: string): string {
  return `${key.slice(0, 8)}${'*'.repeat(Math.max(0, key.length - 12))}${key.slice(-4)}`
}
