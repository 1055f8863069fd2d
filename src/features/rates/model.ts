import { t } from 'elysia'
import { closedObject, text, time } from '../../platform/http/replies/envelope.ts'

export const RatesReply = closedObject(
  {
    baseCode: text('ISO 4217, upper case', 'USD'),
    rates: t.Record(t.String(), t.Number(), {
      description:
        'units of each currency (ISO 4217, upper case) for one unit of the base, which is included as 1',
      examples: [{ USD: 1, EUR: 0.86, JPY: 152.3 }],
    }),
    updatedAt: time('when the provider published them'),
  },
  'CurrencyRates',
  'currency rates',
)

/** Units of each currency for one unit of the base. */
export type RateSet = {
  provider: string
  baseCode: string
  /** The provider's own date, `YYYY-MM-DD`. */
  date: string
  publishedAt: Date
  rates: Record<string, number>
}
