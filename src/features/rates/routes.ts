import { Elysia } from 'elysia'
import { createDataSchema, responses } from '../../platform/http/replies/envelope.ts'
import { cached, createPublicCache, sendPublic } from '../../platform/http/replies/replies.ts'
import { RatesReply } from './model.ts'
import type { CurrencyRates, Rates } from './service.ts'

const MAX_AGE_SECONDS = 300

export function ratesRoutes({ rates }: { rates: Rates }) {
  const render = createPublicCache<CurrencyRates>()
  return new Elysia({ name: 'rates' }).get(
    '/api/user/currency_rates/v1',
    async ({ request, set }) =>
      sendPublic(render(await rates.read()), { request, set }, MAX_AGE_SECONDS),
    {
      response: responses(createDataSchema(RatesReply), 400),
      detail: {
        ...cached,
        tags: ['App'],
        operationId: 'readCurrencyRates',
        summary: 'Currency rates',
        description: 'Refreshed regularly from a public source.',
      },
    },
  )
}
