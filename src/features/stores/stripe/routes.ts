import type { Server } from 'bun'
import { Elysia } from 'elysia'
import { AppError, type DenialReason } from '../../../lib/errors.ts'
import { toObject } from '../../../lib/text/json.ts'
import { readBody, readJson } from '../../../platform/http/body/body.ts'
import { Message, message, responses } from '../../../platform/http/replies/envelope.ts'
import { malformed } from '../../../platform/http/replies/errors.ts'
import type { FindIp } from '../../../platform/http/request/client-address.ts'
import { createFailureLimit } from '../../../platform/limits/failure-limit.ts'
import { ENVIRONMENTS, storedEnvironment } from '../../billing/environment.ts'
import type { EventInbox } from '../../billing/inbox/event-inbox.ts'
import { hasValidSignature } from '../../billing/routes/signature.ts'
import { markIfStray } from '../../billing/routes/stray-requests.ts'
import { receiveDelivery } from '../../billing/routes/webhook.ts'
import { type Notification, readNotification } from './events/notification.ts'
import { STRIPE_PATH, StripeEvent } from './model.ts'
import type { Stripe } from './stripe.ts'

const MAX_BODY_BYTES = 256 * 1024
/** Per IP address in ten minutes. */
const MAX_FAILURES = 300
/** Stripe's page waits for the response before it sends the customer back. */
const CHECKOUT_TIMEOUT_MS = 3_000

type StripeRoutesDeps = {
  eventInbox: Pick<EventInbox, 'receive'>
  /** Null if Stripe is not set up. */
  stripe: Pick<Stripe, 'secrets' | 'apply' | 'markNotified' | 'queue'> | null
  findIp: FindIp
  hasLimits: boolean
  now: () => Date
}

export function stripeRoutes(deps: StripeRoutesDeps) {
  const { eventInbox, stripe, findIp, now } = deps
  const failures = createFailureLimit({ ...deps, max: MAX_FAILURES })
  return new Elysia({ name: 'stripe' }).post(
    STRIPE_PATH,
    async ({ request, server }) => {
      const secrets = stripe?.secrets
      if (!stripe || !secrets || Object.values(secrets).flat().length === 0) {
        await markIfStray(
          request,
          (body) => readNotification(toObject(body), 'PRODUCTION') !== null,
        )
        throw notSetUp()
      }
      failures.countFailure(request, findIp(request, server as Server<unknown> | null))
      const bytes = await readBody(request, MAX_BODY_BYTES)
      const signature = request.headers.get('stripe-signature')
      const environment = ENVIRONMENTS.map(storedEnvironment).find((one) =>
        secrets[one].some((secret) => hasValidSignature(signature, bytes, secret, now())),
      )
      if (environment === undefined) throw notFromStripe('wrong_signature')
      const notification = readNotification(toObject(readJson(bytes)), environment)
      if (notification === null) throw malformed('The body is not an event of Stripe.')
      if (notification.isLive !== (environment === 'PRODUCTION'))
        throw notFromStripe('wrong_environment')
      failures.release(request)
      if (notification.isForeign) return message('The event is about another account.', 'ignored')
      return record(stripe, notification)
    },
    {
      parse: 'none',
      response: responses(Message, 400, 401, 413, 415, 429),
      detail: {
        tags: ['Webhook'],
        operationId: 'receiveStripeEvent',
        summary: 'Receive an event from Stripe',
        description:
          'For Stripe only, signed with the secret of the webhook. Returns 200 once the event is stored durably; the server then queries Stripe about the subscription. Codes: `ok`, `duplicate` or `ignored`.',
        requestBody: {
          required: true,
          content: { 'application/json': { schema: StripeEvent as object } },
        },
      },
    },
  )

  async function record(
    { apply, markNotified, queue }: NonNullable<typeof stripe>,
    { delivery, target, type }: Notification,
  ) {
    const { environment } = delivery.event
    const reply = await receiveDelivery(eventInbox, delivery, (tx) =>
      apply(tx, environment, target),
    )
    await markNotified(environment)
    if (target !== null && type === 'checkout.session.completed')
      // The queue reads whatever cannot be read in time.
      await queue.refreshNow(target.id, AbortSignal.timeout(CHECKOUT_TIMEOUT_MS)).catch(() => {})
    const isQueued = reply.code === 'ignored' && target !== null
    return isQueued ? message('The event is recorded.', 'ok') : reply
  }
}

function notSetUp(): AppError {
  return new AppError('webhook_not_configured', 'Set STRIPE_WEBHOOK_SECRET to receive events.', {
    retryAfterSeconds: 300,
  })
}

function notFromStripe(reason: DenialReason): AppError {
  return new AppError(
    'unauthenticated',
    'The event is not signed with the secret of the webhook.',
    {
      denial: { reason },
    },
  )
}
