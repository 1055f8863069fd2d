import { AppError } from '../../../../lib/errors.ts'
import { type Environment, storedEnvironment } from '../../../billing/environment.ts'
import { text, toList } from '../../json.ts'
import type { Params } from '../api/api.ts'
import { ignoreUnknown, StripeApiError } from '../api/api-error.ts'
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
      const { data } = await api.call(environment, 'subscriptions', { params }).catch(ignoreUnknown)
      return text(toList(data)[0]?.['id'])
    }

    /** Stripe refuses a flow that has nothing to do, such as cancelling twice: then the page begins with an overview. */
    async function create(customer: string, subscription: string | null): Promise<string> {
      await customers.updateAddress(customer).catch(throwIfGone)
      const flow = toFlow(request.flow, subscription)
      const url = await createSession(customer, flow).catch((error) => {
        const isRefused = error instanceof StripeApiError && error.reason === 'rejected'
        if (flow && isRefused) return createSession(customer)
        return throwIfGone(error)
      })
      if (url === null) throw new StripeApiError('unreadable')
      return url
    }

    async function createSession(customer: string, flow?: Params) {
      const session = await api.call(environment, 'billing_portal/sessions', {
        method: 'POST',
        params: {
          customer,
          return_url: request.returnUrl,
          configuration: settings.stripePortal ?? undefined,
          flow_data: flow,
        },
      })
      return text(session['url'], 5_000)
    }
  }
}

function toFlow(flow: PortalRequest['flow'], subscription: string | null): Params | undefined {
  if (flow === undefined) return undefined
  const type = FLOWS[flow]
  if (flow === 'payment_method') return { type }
  return subscription === null ? undefined : { type, [type]: { subscription } }
}

/** The customer was deleted at Stripe. */
function throwIfGone(error: unknown): never {
  const isGone = error instanceof StripeApiError && error.reason === 'unknown'
  throw isGone ? new AppError('not_found', 'The customer no longer exists at Stripe.') : error
}
