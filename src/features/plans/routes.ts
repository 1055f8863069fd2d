import { Elysia, t } from 'elysia'
import { LanguageQuery, wantedLanguages } from '../../platform/http/language/local-text.ts'
import { createDataSchema, responses } from '../../platform/http/replies/envelope.ts'
import {
  cached,
  createPublicCache,
  localized,
  sendPublic,
} from '../../platform/http/replies/replies.ts'
import { negotiatePlans, PlanReply, translatePlans } from './model.ts'
import type { Plans } from './service.ts'

/** Revalidated each time by its ETag, like all content that editors publish. */
const MAX_AGE_SECONDS = 0

export function plansRoutes({ plans }: { plans: Plans }) {
  const render = createPublicCache(translatePlans)
  return new Elysia({ name: 'plans' }).get(
    '/api/user/pricing_plans/v1',
    async ({ request, set, query }) => {
      const list = await plans.list()
      const language = negotiatePlans(list, wantedLanguages(request.headers, query.lang))
      return sendPublic(render(list, language), { request, set }, MAX_AGE_SECONDS, { language })
    },
    {
      query: LanguageQuery,
      response: responses(createDataSchema(t.Array(PlanReply)), 400, 422),
      detail: {
        ...cached,
        tags: ['App'],
        ...localized,
        operationId: 'readPricingPlans',
        summary: 'Pricing plans on sale',
        description: 'In the requested language if the texts are available in it.',
      },
    },
  )
}
