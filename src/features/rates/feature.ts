import { MINUTE_MS } from '../../lib/time/durations.ts'
import { highest } from '../../platform/conditions/measure.ts'
import type { Feature, Platform } from '../../platform/feature.ts'
import type { Job } from '../../platform/jobs/jobs.ts'
import { gauge } from '../../platform/metrics/metrics.ts'
import { rateActions } from './actions.ts'
import { ratesCommands } from './commands.ts'
import { rateLists } from './lists.ts'
import { RatesReply } from './model.ts'
import { createFeeds } from './providers.ts'
import { ratesRoutes } from './routes.ts'
import { type RatesDb, rateTables } from './schema.ts'
import { createRates, type Rates } from './service.ts'
import type { Peg } from './table.ts'

const MAX_JITTER_MS = 5 * MINUTE_MS

type Needs = {
  pegs: Peg[]
}

export const ratesFeature = {
  tables: rateTables,
  commands: ratesCommands,
  lists: rateLists,
  actions: rateActions,
  conditions: {
    'rates-old': {
      title: 'The currency rates are old',
      advice: '"homeport rates refresh" tries again and says what fails.',
      severity: 'warn',
      // Around Easter, the European Central Bank publishes none for five days.
      measure: highest('homeport_rates_age_seconds', { per: 86_400 }),
      limit: { above: 6, unit: 'days' },
    },
  },
  metrics: {
    homeport_rates_age_seconds: gauge(
      'Age of the currency rates in use; absent when they are not refreshed',
      async ({ rates, now }: { rates: Rates; now: () => Date }) => {
        const served = rates.isRefreshed ? await rates.readIfServed() : null
        return served && Math.round((now().getTime() - Date.parse(served.updatedAt)) / 1000)
      },
    ),
  },
  clientModels: { CurrencyRates: RatesReply },
  create(platform: Platform<RatesDb>, { pegs }: Needs) {
    const feeds = createFeeds(platform.config)
    const rates = createRates({ ...platform, feeds, baseCode: platform.config.ratesBase, pegs })
    return {
      services: { rates },
      routes: () => ratesRoutes({ rates }),
      jobs: rates.isRefreshed ? [refreshJob(rates)] : [],
    }
  },
} satisfies Feature

function refreshJob(rates: Rates): Job {
  return {
    name: 'rates',
    schedule: ['15,45 14-17 * * MON-FRI', '20 6 * * *'],
    run: rates.refreshWithRetries,
    isDueAtStart: rates.isDue,
    jitter: MAX_JITTER_MS,
  }
}
