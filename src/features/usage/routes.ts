import { Elysia } from 'elysia'
import type { authenticate } from '../../platform/http/authenticate.ts'
import { data, responses } from '../../platform/http/replies/envelope.ts'
import { UsageReply } from './model.ts'
import type { Usage } from './service.ts'

type UsageRoutesDeps = { usage: Usage; signedIn: ReturnType<typeof authenticate> }

export function usageRoutes({ usage, signedIn }: UsageRoutesDeps) {
  return new Elysia({ name: 'usage' })
    .use(signedIn)
    .get('/api/user/usage/v1', async ({ session }) => data(await usage.read(session.userId)), {
      signedIn: true,
      response: responses(UsageReply, 400, 401, 404),
      detail: {
        tags: ['Usage'],
        operationId: 'readUsage',
        summary: 'Read the signed-in user’s usage',
        description:
          'Every limit of the signed-in user’s plan, and how much of it is used in the current period.',
      },
    })
}
