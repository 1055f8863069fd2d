import type { Server } from 'bun'
import { Elysia } from 'elysia'
import { AppError } from '../../../../lib/errors.ts'
import { type Json, toObject } from '../../../../lib/text/json.ts'
import { bearerToken } from '../../../../platform/http/authenticate.ts'
import { readBody, readJson } from '../../../../platform/http/body/body.ts'
import { Message, message, responses } from '../../../../platform/http/replies/envelope.ts'
import { malformed } from '../../../../platform/http/replies/errors.ts'
import type { FindIp } from '../../../../platform/http/request/client-address.ts'
import { createFailureLimit } from '../../../../platform/limits/failure-limit.ts'
import type { EventInbox } from '../../../billing/inbox/event-inbox.ts'
import { markIfStray } from '../../../billing/routes/stray-requests.ts'
import { receiveDelivery } from '../../../billing/routes/webhook.ts'
import { PLAY_PATH, PlayPush } from '../../model.ts'
import type { Play } from '../play.ts'
import { readPush } from './notification.ts'

const MAX_BODY_BYTES = 256 * 1024

/** Per IP address in ten minutes. */
const MAX_FAILURES = 300

type PlayRoutesDeps = {
  eventInbox: Pick<EventInbox, 'receive'>
  /** Null if Google Play is not set up. */
  play: Pick<Play, 'checkPushToken' | 'isOurs' | 'apply' | 'markNotified' | 'queue'> | null
  findIp: FindIp
  hasLimits: boolean
  now: () => Date
}

export function playRoutes(deps: PlayRoutesDeps) {
  const { eventInbox, play, findIp } = deps
  const failures = createFailureLimit({ ...deps, max: MAX_FAILURES })
  return new Elysia({ name: 'play' }).guard({}, (app) =>
    app.use(bearerToken()).post(
      PLAY_PATH,
      async ({ bearer, request, server }) => {
        try {
          if (!play?.checkPushToken) throw notSetUp(play === null)
          failures.countFailure(request, findIp(request, server as Server<unknown> | null))
          await play.checkPushToken(bearer)
        } catch (error) {
          await markIfStray(request, (body) => readPush(toObject(body)) !== null)
          throw error
        }
        failures.release(request)
        const body = toObject(readJson(await readBody(request, MAX_BODY_BYTES)))
        const push = readPush(body)
        if (push === null) throw malformedPush(body)
        if (!play.isOurs(push)) {
          return message('The notification is about another app or subscription.', 'ignored')
        }
        const reply = await receiveDelivery(eventInbox, push.delivery, (tx) => play.apply(tx, push))
        await play.markNotified(push)
        play.queue.wake()
        return reply
      },
      {
        parse: 'none',
        response: responses(Message, 400, 401, 413, 415, 429),
        detail: {
          tags: ['Webhook'],
          operationId: 'receivePlayNotification',
          summary: 'Receive a Google Play notification',
          description:
            'For Pub/Sub only, with a token of the configured service account. Returns 200 once the notification is stored durably; the server then queries Google about the purchase. Codes: `ok`, `duplicate` or `ignored`.',
          requestBody: {
            required: true,
            content: { 'application/json': { schema: PlayPush as object } },
          },
        },
      },
    ),
  )
}

function malformedPush(body: Json): AppError {
  return 'packageName' in body
    ? malformed('Turn off payload unwrapping in the Pub/Sub subscription.')
    : malformed('The body needs a `message` with `messageId` and `data`, as Pub/Sub sends it.')
}

function notSetUp(isPlayMissing: boolean): AppError {
  const missing = isPlayMissing ? 'PLAY_PACKAGES' : 'PLAY_PUSH_ACCOUNT'
  return new AppError('webhook_not_configured', `Set ${missing} to receive notifications.`, {
    retryAfterSeconds: 300,
  })
}
