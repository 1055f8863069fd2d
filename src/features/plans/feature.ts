import type { ConsoleContext, Feature, Platform } from '../../platform/feature.ts'
import type { PublicationsDb } from '../../platform/publications/schema.ts'
import { plansAdmin } from './admin.ts'
import { plansCommands } from './commands.ts'
import { plansRoutes } from './routes.ts'
import { type PlansDb, planTables } from './schema.ts'
import { createPlans } from './service.ts'

/** The pricing plans. */
export const plansFeature = {
  tables: planTables,
  commands: plansCommands,
  create(platform: Platform<PlansDb & PublicationsDb>) {
    const plans = createPlans(platform)
    return {
      services: { plans },
      routes: () => plansRoutes({ plans }),
      consoleRoutes: ({ record }: ConsoleContext) => plansAdmin({ plans, record }),
    }
  },
} satisfies Feature
