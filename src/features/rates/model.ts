import { t } from 'elysia'
import { strict } from '../../http/envelope.ts'

export const RatesReply = strict(
  {
    baseCode: t.String({ examples: ['USD'] }),
    rates: t.Object({}, { additionalProperties: t.Number(), description: 'ISO 4217 code → rate' }),
    updatedAt: t.String({ format: 'date-time', description: 'when the provider published them' }),
  },
  'CurrencyRates',
)

/** What a provider published: units of each currency for one unit of the base. */
export type RateSet = {
  provider: string
  baseCode: string
  /** The provider's own date, `YYYY-MM-DD`. */
  date: string
  publishedAt: Date
  rates: Record<string, number>
}
