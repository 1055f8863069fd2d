import { Elysia, type TSchema } from 'elysia'
import type { authenticate } from '../../../platform/http/authenticate.ts'
import { varyBy } from '../../../platform/http/cors.ts'
import { wantedLanguages } from '../../../platform/http/language/local-text.ts'
import { createDataSchema, data, responses } from '../../../platform/http/replies/envelope.ts'
import { localized } from '../../../platform/http/replies/replies.ts'
import type { ProvenAccess } from '../access/proof.ts'
import type { PlanLike, Subscription } from '../access/subscription.ts'
import { checkEnvironment } from '../environment.ts'
import { createSubscriptionReply, OwnSubscriptionQuery } from '../model.ts'

type SubscriptionRoutesDeps = {
  planSchema: TSchema
  subscription: Pick<Subscription<PlanLike>, 'read'>
  signProof: (access: ProvenAccess) => string
  showsSandbox: boolean
  signedIn: ReturnType<typeof authenticate>
}

export function subscriptionRoutes({
  planSchema,
  subscription,
  signProof,
  showsSandbox,
  signedIn,
}: SubscriptionRoutesDeps) {
  return new Elysia({ name: 'subscription' }).use(signedIn).get(
    '/api/user/subscription/v1',
    async ({ session, query, request, set }) => {
      const environment = query.environment ?? 'production'
      checkEnvironment(environment, showsSandbox)
      const wanted = wantedLanguages(request.headers, query.lang)
      const read = await subscription.read(session.userId, environment, wanted)
      set.headers['content-language'] = read.language
      varyBy(set, 'Accept-Language')
      const proof = query.proof ? { proof: signProof(read.describeAccess()) } : {}
      return data({ ...read.subscription, ...proof })
    },
    {
      signedIn: true,
      query: OwnSubscriptionQuery,
      response: responses(
        createDataSchema(createSubscriptionReply(planSchema)),
        400,
        401,
        404,
        422,
      ),
      detail: {
        tags: ['Billing'],
        ...localized,
        operationId: 'readSubscription',
        summary: 'Read the subscription',
        description:
          'What the signed-in user has paid for, as of now. `plan` is the plan of the best active purchase; without one, the plan `free`, or null if there is none.',
      },
    },
  )
}
