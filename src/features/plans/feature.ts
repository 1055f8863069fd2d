import type { Feature, Platform } from '../../platform/feature.ts'
import type { PublicationsDb } from '../../platform/publications/schema.ts'
import { plansActions } from './actions.ts'
import { plansCommands } from './commands.ts'
import { plansConsole } from './console.ts'
import { PlanReply } from './model.ts'
import { plansRoutes } from './routes.ts'
import { type PlansDb, planTables } from './schema.ts'
import { createPlans } from './service.ts'

export const plansFeature = {
  tables: planTables,
  commands: plansCommands,
  actions: plansActions,
  clientModels: { PricingPlan: PlanReply },
  create(platform: Platform<PlansDb & PublicationsDb>) {
    const plans = createPlans(platform)
    return {
      services: { plans },
      routes: () => plansRoutes({ plans }),
      consoleRoutes: () => plansConsole({ plans }),
    }
  },
} satisfies Feature
