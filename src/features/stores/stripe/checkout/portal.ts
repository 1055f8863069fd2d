import { AppError } from '../../../../lib/errors.ts'
import { type Environment, storedEnvironment } from '../../../billing/environment.ts'
import { text, toList } from '../../json.ts'
import { StripeApiError } from '../api/api-error.ts'
import type { StripeContext } from '../context.ts'
import type { Customers } from './customers.ts'

type PortalRequest = {
  returnUrl: string
  flow?: 'cancel' | 'change' | 'payment_method'
  environment?: Environment
}

const FLOWS = {
  cancel: 'subscription_cancel',
  change: 'subscription_update',
  payment_method: 'payment_method_update',
}

/** Stripe's pages on which customers change and cancel their subscriptions. */
export function createPortal({
  db,
  api,
  customers,
  settings,
}: StripeContext & { customers: Customers }) {
  return { open }

  /** Throws 404 for a user who has bought nothing at Stripe, and `StripeApiError`. */
  async function open(userId: string, request: PortalRequest): Promise<string> {
    const environment = storedEnvironment(request.environment ?? 'production')
    const known = await customers.list(db.read, userId, environment)
    const sorted = known.toSorted((a, b) => Number(b.isCurrent) - Number(a.isCurrent))
    for (const { id } of sorted) {
      const subscription = await findLive(id)
      if (subscription !== null || known.length === 1) return create(id, subscription)
    }
    const [current] = sorted
    if (!current) throw new AppError('not_found', 'The user has bought nothing by card.')
    return create(current.id, null)

    async function findLive(customer: string): Promise<string | null> {
      const params = { customer, limit: 1 }
      const { data } = await api.call(environment, 'subscriptions', { params }).catch(throwIfGone)
      return text(toList(data)[0]?.['id'])
    }

    async function create(customer: string, subscription: string | null): Promise<string> {
      const type = request.flow && FLOWS[request.flow]
      const isAboutOne = type === 'subscription_cancel' || type === 'subscription_update'
      const session = await api
        .call(environment, 'billing_portal/sessions', {
          method: 'POST',
          params: {
            customer,
            return_url: request.returnUrl,
            configuration: settings.stripePortal ?? undefined,
            flow_data:
              type === undefined || (isAboutOne && subscription === null)
                ? undefined
                : {
                    type,
                    ...(isAboutOne ? { [type]: { subscription: String(subscription) } } : {}),
                  },
          },
        })
        .catch(throwIfGone)
      const url = text(session['url'], 5_000)
      if (url === null) throw new StripeApiError('unreadable')
      return url
    }
  }
}

/** The customer was deleted at Stripe. */
function throwIfGone(error: unknown): never {
  const isGone = error instanceof StripeApiError && error.reason === 'unknown'
  throw isGone ? new AppError('not_found', 'The customer no longer exists at Stripe.') : error
}
