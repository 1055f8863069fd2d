import { Elysia, type TSchema } from 'elysia'
import { equalInConstantTime } from '../../lib/crypto.ts'
import { AppError } from '../../lib/errors.ts'
import { type authenticate, bearerToken } from '../../platform/http/authenticate.ts'
import { readBody, readJson } from '../../platform/http/body.ts'
import { varyBy } from '../../platform/http/cors.ts'
import { DataOf, data, Message, message, responses } from '../../platform/http/envelope.ts'
import { malformed, notFound } from '../../platform/http/errors.ts'
import { wantedLanguages } from '../../platform/http/local-text.ts'
import type { PlanLike, Subscription } from './access/subscription.ts'
import { type Delivery, readDelivery } from './inbox/event.ts'
import type { Billing, DeliveryResult } from './inbox/event-inbox.ts'
import { isSigned } from './inbox/signature.ts'
import { BillingDelivery, SubscriptionQuery, SubscriptionReplyOf, WEBHOOK_PATH } from './model.ts'

const BODY_LIMIT = 256 * 1024

const SENTENCES: Record<DeliveryResult, string> = {
  ok: 'The event is recorded.',
  duplicate: 'The event was recorded before.',
  ignored: 'The event is recorded and changes nothing.',
}

/** `tokens`: one, or two while they are rotated; none means that no token is configured. */
type BillingRoutesDeps = {
  /** How a pricing plan is described. */
  planSchema: TSchema
  billing: Pick<Billing, 'receive'>
  subscription: Pick<Subscription<PlanLike>, 'read'>
  tokens: string[]
  /** The provider's signing secret, where deliveries must be signed as well. */
  signingSecret: string | null
  showsSandbox: boolean
  signedIn: ReturnType<typeof authenticate>
  now: () => Date
}

export function billingRoutes(deps: BillingRoutesDeps) {
  const { planSchema, billing, subscription, tokens, signingSecret, showsSandbox, signedIn, now } =
    deps
  return new Elysia({ name: 'billing' })
    .use(signedIn)
    .use(bearerToken())
    .get(
      '/api/user/subscription/v1',
      async ({ session, query, request, set }) => {
        const environment = query.environment ?? 'production'
        if (environment === 'sandbox' && !showsSandbox) throw notFound()
        const wanted = wantedLanguages(request.headers, query.lang)
        const read = await subscription.read(session.userId, environment, wanted)
        set.headers['content-language'] = read.language
        varyBy(set, 'Accept-Language')
        return data(read.subscription)
      },
      {
        signedIn: true,
        query: SubscriptionQuery,
        response: responses(DataOf(SubscriptionReplyOf(planSchema)), 400, 401, 404, 422, 503),
        detail: {
          tags: ['Billing'],
          operationId: 'readSubscription',
          summary: 'What the user has paid for',
          description:
            'Folded from the events of the billing provider, and judged at this instant. `plan` is what the best active purchase buys, else the plan `free`, else null.',
        },
      },
    )
    .post(
      WEBHOOK_PATH,
      async ({ bearer, request }) => {
        authorize(bearer)
        const bytes = await readBody(request, BODY_LIMIT)
        if (signingSecret !== null) verify(request, bytes, signingSecret)
        const delivery = readDelivery(readJson(bytes), bytes)
        if (delivery === null) throw malformed('The body has no event with a type.')
        const result = await received(delivery)
        return message(SENTENCES[result], result)
      },
      {
        parse: 'none',
        response: responses(Message, 400, 401, 413, 415, 503),
        detail: {
          tags: ['Webhook'],
          operationId: 'receiveBillingEvent',
          security: [{ webhook: [] }],
          summary: 'Webhook of the billing provider',
          description:
            'For the billing provider, with its own token. Answers 200 once the event is durable; the code is `ok`, `duplicate` or `ignored`.',
          requestBody: {
            required: true,
            content: { 'application/json': { schema: BillingDelivery as object } },
          },
        },
      },
    )

  /** Every token is compared, so that the time does not tell which one came close. */
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
    throw new AppError('unauthenticated', 'The signature of the delivery is wrong or too old.', {
      denial: { reason: 'wrong_signature' },
    })
  }

  /** A full disk returns 503 like any other storage failure here, so that the provider retries. */
  async function received(delivery: Delivery): Promise<DeliveryResult> {
    try {
      return await billing.receive(delivery)
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'insufficient_storage') throw error
      throw new AppError('unavailable', error.message, { retryAfterSeconds: 60, cause: error })
    }
  }
}
