import type { ConsoleContext, Feature, Platform } from '../../platform/feature.ts'
import { ratesAdmin } from './admin.ts'
import { ratesCommands } from './commands.ts'
import { rateJobs } from './jobs.ts'
import { createFeeds } from './providers.ts'
import { ratesRoutes } from './routes.ts'
import { type RatesDb, rateTables } from './schema.ts'
import { createRates } from './service.ts'
import type { Peg } from './table.ts'

type Needs = {
  /** The currencies whose rates are fixed by law. */
  pegs: Peg[]
}

/** Currency rates, refreshed from a public feed. */
export const ratesFeature = {
  tables: rateTables,
  commands: ratesCommands,
  create(platform: Platform<RatesDb>, { pegs }: Needs) {
    const feeds = createFeeds(platform.config)
    const rates = createRates({ ...platform, feeds, baseCode: platform.config.ratesBase, pegs })
    return {
      services: { rates },
      routes: () => ratesRoutes({ rates }),
      consoleRoutes: (context: ConsoleContext) => ratesAdmin({ rates, ...context }),
      jobs: rateJobs({ rates }),
    }
  },
} satisfies Feature
