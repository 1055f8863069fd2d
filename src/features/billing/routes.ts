import { Elysia, type TSchema } from 'elysia'
import { equalInConstantTime } from '../../lib/crypto.ts'
import { AppError, notFound } from '../../lib/errors.ts'
import { type authenticate, bearerToken } from '../../platform/http/authenticate.ts'
import { readBody, readJson } from '../../platform/http/body.ts'
import { varyBy } from '../../platform/http/cors.ts'
import { DataOf, data, Message, message, responses } from '../../platform/http/envelope.ts'
import { malformed } from '../../platform/http/errors.ts'
import { wantedLanguages } from '../../platform/http/local-text.ts'
import type { PlanLike, Subscription } from './access/subscription.ts'
import type { Environment } from './environment.ts'
import { type BillingEvent, type Delivery, readDelivery } from './inbox/event.ts'
import type { DeliveryResult, EventInbox } from './inbox/event-inbox.ts'
import { isSigned } from './inbox/signature.ts'
import { BillingDelivery, SubscriptionQuery, SubscriptionReplyOf, WEBHOOK_PATH } from './model.ts'

const MAX_BODY_BYTES = 256 * 1024

const MESSAGES: Record<DeliveryResult, string> = {
  ok: 'The event is recorded.',
  duplicate: 'The event was already recorded.',
  ignored: 'The event is recorded. It does not affect access.',
}

type BillingRoutesDeps = {
  planSchema: TSchema
  eventInbox: Pick<EventInbox, 'receive'>
  subscription: Pick<Subscription<PlanLike>, 'read'>
  /** Two tokens during a rotation, none if the webhook is not configured. */
  tokens: string[]
  /** The provider's signing secret; null if deliveries need no signature. */
  signingSecret: string | null
  showsSandbox: boolean
  signedIn: ReturnType<typeof authenticate>
  now: () => Date
}

export function billingRoutes(deps: BillingRoutesDeps) {
  const {
    planSchema,
    eventInbox,
    subscription,
    tokens,
    signingSecret,
    showsSandbox,
    signedIn,
    now,
  } = deps
  return new Elysia({ name: 'billing' })
    .use(signedIn)
    .use(bearerToken())
    .get(
      '/api/user/subscription/v1',
      async ({ session, query, request, set }) => {
        const environment = query.environment ?? 'production'
        checkEnvironment(environment, showsSandbox)
        const wanted = wantedLanguages(request.headers, query.lang)
        const read = await subscription.read(session.userId, environment, wanted)
        set.headers['content-language'] = read.language
        varyBy(set, 'Accept-Language')
        return data(read.subscription)
      },
      {
        signedIn: true,
        query: SubscriptionQuery,
        response: responses(DataOf(SubscriptionReplyOf(planSchema)), 400, 401, 404, 422),
        detail: {
          tags: ['Billing'],
          operationId: 'readSubscription',
          summary: 'Read the subscription',
          description:
            'What the signed-in user has paid for, as of now. `plan` is the plan of the best active purchase, else the plan `free`, else null.',
        },
      },
    )
    .post(
      WEBHOOK_PATH,
      async ({ bearer, request }) => {
        authorize(bearer)
        const bytes = await readBody(request, MAX_BODY_BYTES)
        if (signingSecret !== null) verify(request, bytes, signingSecret)
        const delivery = readDelivery(readJson(bytes), bytes)
        if (delivery === null) throw malformed('The body needs an `event` with a `type`.')
        if (isOwnEvent(delivery.event))
          throw malformed('This event type or id is reserved for Homeport.')
        return receiveDelivery(eventInbox, delivery)
      },
      {
        parse: 'none',
        response: responses(Message, 400, 401, 413, 415),
        detail: {
          tags: ['Webhook'],
          operationId: 'receiveBillingEvent',
          security: [{ webhook: [] }],
          summary: 'Receive a billing event',
          description:
            'For the billing provider only, with its own token. Replies 200 once the event is stored durably, with the code `ok`, `duplicate` or `ignored`.',
          requestBody: {
            required: true,
            content: { 'application/json': { schema: BillingDelivery as object } },
          },
        },
      },
    )

  /** Compares all tokens, so that the response time reveals nothing. */
  function authorize(token: string | undefined) {
    if (tokens.length === 0) {
      throw new AppError('webhook_not_configured', 'Set WEBHOOK_TOKEN to receive events.', {
        retryAfterSeconds: 300,
      })
    }
    const matching = tokens.filter((known) => equalInConstantTime(token ?? '', known))
    if (matching.length === 0)
      throw new AppError('unauthenticated', 'The webhook token is missing or wrong.', {
        denial: { reason: token === undefined ? 'missing' : 'wrong_token' },
      })
  }

  function verify({ headers }: Request, bytes: Uint8Array, secret: string) {
    if (isSigned(headers.get('x-revenuecat-webhook-signature'), bytes, secret, now())) return
    throw new AppError('unauthenticated', 'The signature is wrong or too old.', {
      denial: { reason: 'wrong_signature' },
    })
  }
}

/** Throws 404 for the sandbox if its purchases are ignored. */
export function checkEnvironment(environment: Environment, showsSandbox: boolean) {
  if (environment === 'sandbox' && !showsSandbox) throw notFound()
}

/** Records a delivery and replies to it. A full disk returns 503, like any other storage failure: the sender retries. */
export async function receiveDelivery(
  eventInbox: Pick<EventInbox, 'receive'>,
  delivery: Delivery,
  alongside?: Parameters<EventInbox['receive']>[1],
) {
  try {
    const result = await eventInbox.receive(delivery, alongside)
    return message(MESSAGES[result], result)
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'insufficient_storage') throw error
    throw new AppError('unavailable', error.message, { retryAfterSeconds: 60, cause: error })
  }
}

/** Whether an event has a type, an id or a purchase of those that Homeport records itself: grants, links, corrections. */
function isOwnEvent({ type, id, transactionId, originalTransactionId }: BillingEvent): boolean {
  const isGranted = [transactionId, originalTransactionId].some((of) => of?.startsWith('grant:'))
  return isGranted || /^HOMEPORT_/.test(type) || /^(grant|revoke|claim|homeport):/.test(id)
}
