import type { Server } from 'bun'
import { Elysia } from 'elysia'
import type { AppStoreApp } from '../../config/subjects/stores.ts'
import { AppError, type DenialReason } from '../../lib/errors.ts'
import { toObject } from '../../lib/text/json.ts'
import { readBody, readJson } from '../../platform/http/body/body.ts'
import { Message, responses } from '../../platform/http/replies/envelope.ts'
import { malformed } from '../../platform/http/replies/errors.ts'
import type { FindIp } from '../../platform/http/request/client-address.ts'
import { requestInfo } from '../../platform/http/request/request-log.ts'
import { createFailureLimit } from '../../platform/limits/failure-limit.ts'
import type { EventInbox } from '../billing/inbox/event-inbox.ts'
import { markIfStray } from '../billing/routes/stray-requests.ts'
import { receiveDelivery } from '../billing/routes/webhook.ts'
import { AppleTokenError } from './apple/certificates.ts'
import { readAppleDelivery } from './apple/delivery.ts'
import type { VerifyToken } from './apple/token.ts'
import type { StoreApps } from './checks/apps.ts'
import { APP_STORE_PATH, AppStoreNotification } from './model.ts'

/** Apple's notifications are about 20 kB. */
const MAX_BODY_BYTES = 256 * 1024

/** Per IP address in ten minutes: each request takes a millisecond to verify. */
const MAX_FAILURES = 300

type StoreRoutesDeps = {
  eventInbox: Pick<EventInbox, 'receive'>
  storeApps: Pick<StoreApps, 'markNotified'>
  /** Empty if the App Store is not set up. */
  apps: AppStoreApp[]
  verify: VerifyToken
  findIp: FindIp
  hasLimits: boolean
  now: () => Date
}

export function storeRoutes(deps: StoreRoutesDeps) {
  const { eventInbox, storeApps, apps, verify, findIp } = deps
  const failures = createFailureLimit({ ...deps, max: MAX_FAILURES })
  return new Elysia({ name: 'stores' }).post(
    APP_STORE_PATH,
    async ({ request, server }) => {
      if (apps.length === 0) {
        await markIfStray(request, isNotification)
        throw notSetUp()
      }
      failures.countFailure(request, findIp(request, server as Server<unknown> | null))
      const info = requestInfo(request)
      info.isStray = true
      const body = toObject(readJson(await readBody(request, MAX_BODY_BYTES)))
      info.isStray = !isNotification(body)
      const { signedPayload, ...others } = body
      if (signedPayload === undefined) throw missingPayload(others)
      const delivery = read(request, signedPayload)
      const reply = await receiveDelivery(eventInbox, delivery)
      const { bundleId, event } = delivery
      await storeApps.markNotified({ store: 'app_store', bundleId, environment: event.environment })
      return reply
    },
    {
      parse: 'none',
      response: responses(Message, 400, 401, 403, 413, 415, 429),
      detail: {
        tags: ['Webhook'],
        operationId: 'receiveAppStoreNotification',
        summary: 'Receive an App Store notification',
        description:
          'For Apple only: the notification must be signed by the App Store and concern one of this server’s apps. Returns 200 once it is stored durably, with the code `ok`, `duplicate` or `ignored`.',
        requestBody: {
          required: true,
          content: { 'application/json': { schema: AppStoreNotification as object } },
        },
      },
    },
  )

  function read(request: Request, signedPayload: unknown) {
    try {
      const delivery = readAppleDelivery(signedPayload, verify, apps)
      failures.release(request)
      if (delivery !== null) return delivery
    } catch (error) {
      if (!(error instanceof AppleTokenError)) throw error
      if (error.fault !== 'other_app') throw notFromApple(error.fault)
      failures.release(request)
      throw new AppError('forbidden', 'The notification is about another app.')
    }
    throw malformed('The notification needs a `notificationUUID` and a `notificationType`.')
  }
}

/** Whether a body looks like a notification, signed or of version 1. */
function isNotification(value: unknown): boolean {
  const body = toObject(value)
  return isFirstVersion(body) || /^[\w-]+\.[\w-]+\.[\w-]+$/.test(String(body['signedPayload']))
}

function isFirstVersion(body: Record<string, unknown>): boolean {
  return 'unified_receipt' in body || 'notification_type' in body
}

function missingPayload(body: Record<string, unknown>): AppError {
  return isFirstVersion(body)
    ? malformed('This is a version 1 notification: choose version 2 in App Store Connect.')
    : malformed('The body needs a `signedPayload`.')
}

function notSetUp(): AppError {
  return new AppError('webhook_not_configured', 'Set APP_STORE_APPS to receive notifications.', {
    retryAfterSeconds: 300,
  })
}

function notFromApple(reason: DenialReason): AppError {
  return new AppError('unauthenticated', 'The notification is not signed by the App Store.', {
    denial: { reason },
  })
}
