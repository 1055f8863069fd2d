import { Elysia, type TSchema } from 'elysia'
import { notFound } from '../../../lib/errors.ts'
import { type ScopeGuard, SERVER_API } from '../../../platform/http/api-key-guard.ts'
import { wantedLanguages } from '../../../platform/http/language/local-text.ts'
import { createDataSchema, data, responses } from '../../../platform/http/replies/envelope.ts'
import type { PlanLike, Subscription } from '../access/subscription.ts'
import { checkEnvironment } from '../environment.ts'
import { createSubscriptionReply, SubscriptionQuery } from '../model.ts'
import { createSubscriptionsReply, SubscriptionParams, SubscriptionsQuery } from './model.ts'

type ServerBillingDeps = {
  planSchema: TSchema
  subscription: Pick<Subscription<PlanLike>, 'read'>
  isUser: (id: string) => Promise<boolean>
  showsSandbox: boolean
  scopeGuard: ScopeGuard
}

const PATH = `${SERVER_API}/subscriptions/v1`
const tags = ['Subscriptions']

export function serverBillingRoutes(deps: ServerBillingDeps) {
  const { planSchema, subscription, isUser, showsSandbox, scopeGuard } = deps
  return new Elysia({ name: 'server-billing' })
    .use(scopeGuard)
    .get(
      `${PATH}/:userId`,
      async ({ params: { userId }, query, request }) => {
        const read = await readOne(userId, query, request)
        if (read === null) throw notFound()
        return data(read)
      },
      {
        scope: 'subscriptions:read',
        params: SubscriptionParams,
        query: SubscriptionQuery,
        response: responses(
          createDataSchema(createSubscriptionReply(planSchema)),
          400,
          401,
          403,
          404,
          422,
          429,
        ),
        detail: {
          tags,
          operationId: 'readUserSubscription',
          summary: 'Read a user’s subscription',
          description: 'Returns the same response that the app gets.',
        },
      },
    )
    .get(
      PATH,
      async ({ query, request }) => {
        const found = []
        for (const userId of new Set(query.userIds.split(','))) {
          const read = await readOne(userId, query, request)
          if (read !== null) found.push({ userId, subscription: read })
        }
        return data(found)
      },
      {
        scope: 'subscriptions:read',
        query: SubscriptionsQuery,
        response: responses(createSubscriptionsReply(planSchema), 400, 401, 403, 404, 422, 429),
        detail: {
          tags,
          operationId: 'readUserSubscriptions',
          summary: 'Read the subscriptions of several users',
          description: 'Up to 100 users in one request.',
        },
      },
    )

  async function readOne(
    userId: string,
    { environment = 'production', lang }: typeof SubscriptionQuery.static,
    request: Request,
  ) {
    checkEnvironment(environment, showsSandbox)
    if (!(await isUser(userId))) return null
    const wanted = wantedLanguages(request.headers, lang)
    return (await subscription.read(userId, environment, wanted)).subscription
  }
}
