import { Elysia } from 'elysia'
import { AppError, invalidField } from '../../../../lib/errors.ts'
import type { authenticate } from '../../../../platform/http/authenticate.ts'
import { json } from '../../../../platform/http/body/body.ts'
import { createDataSchema, data, responses } from '../../../../platform/http/replies/envelope.ts'
import type { Limits, WindowRule } from '../../../../platform/limits/limits.ts'
import { checkEnvironment } from '../../../billing/environment.ts'
import { StripeApiError } from '../api/api-error.ts'
import { CheckoutReply, CheckoutRequest, PortalReply, PortalRequest } from '../model.ts'
import type { Stripe } from '../stripe.ts'

type CheckoutRoutesDeps = {
  /** Null if Stripe is not set up. */
  stripe: Pick<Stripe, 'checkout' | 'portal' | 'hasKey'> | null
  /** The origins of the pages to which customers may return. */
  origins: string[]
  limits: Limits
  showsSandbox: boolean
  signedIn: ReturnType<typeof authenticate>
}

const CHECKOUT_LIMIT: WindowRule = { name: 'checkouts', max: 10, seconds: 60 * 60 }
const PORTAL_LIMIT: WindowRule = { name: 'portal', max: 60, seconds: 60 * 60 }

export function checkoutRoutes(deps: CheckoutRoutesDeps) {
  const { stripe, origins, limits, showsSandbox, signedIn } = deps
  return new Elysia({ name: 'checkout' })
    .use(signedIn)
    .post(
      '/api/user/checkout/v1',
      async ({ session: { userId }, body }) => {
        const { checkout } = requireStripe(body)
        requireOrigins(body, ['successUrl', 'cancelUrl'])
        await limits.reserve([{ rule: CHECKOUT_LIMIT, key: userId }])
        return data(await checkout.start(userId, body).catch(throwAsReply))
      },
      {
        signedIn: true,
        ...json(CheckoutRequest),
        response: responses(
          createDataSchema(CheckoutReply),
          ...([400, 401, 403, 404, 409, 413, 415, 422, 429, 503] as const),
        ),
        detail: {
          tags: ['Billing'],
          operationId: 'startCheckout',
          summary: 'Sell a plan by card',
          description:
            'Open `url` in a browser. After the return to `successUrl`, submit the session id in its `session_id` as a purchase. `not_for_sale`: the plan is not sold by card. `already_subscribed`: open the customer portal. `subscribed_elsewhere`: ask the user, then set `allowSecond`.',
        },
      },
    )
    .post(
      '/api/user/billing_portal/v1',
      async ({ session: { userId }, body }) => {
        const { portal } = requireStripe(body)
        requireOrigins(body, ['returnUrl'])
        await limits.reserve([{ rule: PORTAL_LIMIT, key: userId }])
        return data({ url: await portal.open(userId, body).catch(throwAsReply) })
      },
      {
        signedIn: true,
        ...json(PortalRequest),
        response: responses(
          createDataSchema(PortalReply),
          ...([400, 401, 404, 413, 415, 422, 429, 503] as const),
        ),
        detail: {
          tags: ['Billing'],
          operationId: 'createPortalLink',
          summary: 'Let the user change or cancel a subscription',
          description: 'Open `url` in a browser soon: it works for a few minutes.',
        },
      },
    )

  function requireStripe({
    environment = 'production',
  }: {
    environment?: 'production' | 'sandbox'
  }) {
    checkEnvironment(environment, showsSandbox)
    if (stripe?.hasKey(environment)) return stripe
    throw new AppError('unavailable', 'Sales by card are not set up.')
  }

  /** Stripe sends customers to these addresses, so they must be the app's own. */
  function requireOrigins<Name extends string>(body: { [name in Name]: string }, names: Name[]) {
    for (const name of names) {
      const url = URL.parse(body[name])
      // Browsers read a backslash as a slash.
      const isPlain = /^https?:\/\/[^@\\\s]+$/.test(body[name]) && url?.username === ''
      if (!url || !isPlain || !origins.includes(url.origin))
        throw invalidField(name, 'must begin with an origin of CHECKOUT_ORIGINS')
    }
  }
}

function throwAsReply(error: unknown): never {
  if (!(error instanceof StripeApiError)) throw error
  // Its message may name a permission of the key, which is for operators.
  throw new AppError('unavailable', 'Stripe cannot be used now. Try again in a minute.', {
    retryAfterSeconds: 60,
    cause: error,
  })
}
