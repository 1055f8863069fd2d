import { Elysia, type TSchema } from 'elysia'
import type { authenticate } from '../../../platform/http/authenticate.ts'
import { json } from '../../../platform/http/body/body.ts'
import { varyBy } from '../../../platform/http/cors.ts'
import { wantedLanguages } from '../../../platform/http/language/local-text.ts'
import { createDataSchema, data, responses } from '../../../platform/http/replies/envelope.ts'
import { localized } from '../../../platform/http/replies/replies.ts'
import type { FindIp } from '../../../platform/http/request/client-address.ts'
import type { Limits, WindowRule } from '../../../platform/limits/limits.ts'
import type { PlanLike, Subscription } from '../../billing/access/subscription.ts'
import { checkEnvironment } from '../../billing/environment.ts'
import { createSubscriptionReply } from '../../billing/model.ts'
import {
  createSubmissionReply,
  PURCHASES_LIMIT,
  PURCHASES_PATH,
  PurchaseSubmission,
} from '../model.ts'
import type { Submit } from './submissions.ts'

const SUBMISSION_LIMIT: WindowRule = { name: 'purchases', max: 60, seconds: 60 * 60 }

type PurchaseRoutesDeps = {
  planSchema: TSchema
  submit: Submit
  subscription: Pick<Subscription<PlanLike>, 'read'>
  limits: Limits
  showsSandbox: boolean
  findIp: FindIp
  signedIn: ReturnType<typeof authenticate>
}

/** For apps, after buying or restoring. */
export function purchaseRoutes(deps: PurchaseRoutesDeps) {
  const { planSchema, submit, subscription, limits, showsSandbox, findIp, signedIn } = deps
  return new Elysia({ name: 'purchases' }).use(signedIn).post(
    PURCHASES_PATH,
    async ({ session, body, request, server, set }) => {
      const { environment = 'production' } = body
      checkEnvironment(environment, showsSandbox)
      await limits.reserve([{ rule: SUBMISSION_LIMIT, key: session.userId }])
      const submitter = { userId: session.userId, ip: findIp(request, server) }
      const results = await submit(submitter, body.purchases, body.takeOver ?? false)
      const wanted = wantedLanguages(request.headers, undefined)
      const read = await subscription.read(session.userId, environment, wanted)
      set.headers['content-language'] = read.language
      varyBy(set, 'Accept-Language')
      return data({ results, subscription: read.subscription })
    },
    {
      signedIn: true,
      ...json(PurchaseSubmission, PURCHASES_LIMIT),
      response: responses(
        createDataSchema(createSubmissionReply(createSubscriptionReply(planSchema))),
        ...([400, 401, 404, 413, 415, 422, 429] as const),
      ),
      detail: {
        tags: ['Billing'],
        ...localized,
        operationId: 'submitPurchases',
        summary: 'Submit purchases',
        description:
          'Call it after each purchase, for every transaction that StoreKit reports at launch, and when the user restores purchases. Finish a transaction when its outcome is `bound` or `known`. Submitting a purchase again changes nothing.',
      },
    },
  )
}
