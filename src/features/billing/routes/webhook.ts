import { Elysia } from 'elysia'
import { equalInConstantTime } from '../../../lib/crypto/hash.ts'
import { AppError } from '../../../lib/errors.ts'
import { bearerToken } from '../../../platform/http/authenticate.ts'
import { readBody, readJson } from '../../../platform/http/body/body.ts'
import { Message, message, responses } from '../../../platform/http/replies/envelope.ts'
import { malformed } from '../../../platform/http/replies/errors.ts'
import { type BillingEvent, type Delivery, readDelivery, readEvent } from '../inbox/event.ts'
import type { DeliveryResult, EventInbox } from '../inbox/event-inbox.ts'
import { BillingDelivery, WEBHOOK_PATH } from '../model.ts'
import { hasValidSignature } from './signature.ts'
import { markIfStray } from './stray-requests.ts'

const MAX_BODY_BYTES = 256 * 1024

const MESSAGES: Record<DeliveryResult, string> = {
  ok: 'The event is recorded.',
  duplicate: 'The event was already recorded.',
  ignored: 'The event is recorded. It does not affect access.',
}

type WebhookRoutesDeps = {
  eventInbox: Pick<EventInbox, 'receive'>
  /** Two during a rotation, none if the webhook is not configured. */
  tokens: string[]
  /** Null if deliveries need no signature. */
  signingSecret: string | null
  now: () => Date
}

export function webhookRoutes({ eventInbox, tokens, signingSecret, now }: WebhookRoutesDeps) {
  return new Elysia({ name: 'billing-webhook' }).guard({}, (app) =>
    app.use(bearerToken()).post(
      WEBHOOK_PATH,
      async ({ bearer, request }) => {
        try {
          authorize(bearer)
        } catch (error) {
          await markIfStray(request, (body) => readEvent(body, new Uint8Array()) !== null)
          throw error
        }
        const bytes = await readBody(request, MAX_BODY_BYTES)
        if (signingSecret !== null) verify(request, bytes, signingSecret)
        const delivery = readDelivery(readJson(bytes), bytes)
        if (delivery === null) throw malformed('The body needs an `event` with a `type`.')
        if (usesReservedId(delivery.event))
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
            'For the billing provider only, with its own token. Returns 200 once the event is stored durably, with the code `ok`, `duplicate` or `ignored`.',
          requestBody: {
            required: true,
            content: { 'application/json': { schema: BillingDelivery as object } },
          },
        },
      },
    ),
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
    if (hasValidSignature(headers.get('x-revenuecat-webhook-signature'), bytes, secret, now()))
      return
    throw new AppError('unauthenticated', 'The signature is wrong or too old.', {
      denial: { reason: 'wrong_signature' },
    })
  }
}

/** Records a delivery. A full disk returns 503, like any other storage failure: the sender retries. */
export async function receiveDelivery(
  eventInbox: Pick<EventInbox, 'receive'>,
  delivery: Delivery,
  inSameTransaction?: Parameters<EventInbox['receive']>[1],
) {
  try {
    const result = await eventInbox.receive(delivery, inSameTransaction)
    return message(MESSAGES[result], result)
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'insufficient_storage') throw error
    throw new AppError('unavailable', error.message, { retryAfterSeconds: 60, cause: error })
  }
}

/** Whether an event has a type, id or purchase reserved for Homeport's own events: grants, links, corrections. */
function usesReservedId({ type, id, transactionId, originalTransactionId }: BillingEvent): boolean {
  const isGranted = [transactionId, originalTransactionId].some((key) => key?.startsWith('grant:'))
  return isGranted || /^HOMEPORT_/.test(type) || /^(grant|revoke|claim|homeport):/.test(id)
}
