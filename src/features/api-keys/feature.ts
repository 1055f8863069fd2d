import type { ConsoleContext, Feature, Platform } from '../../platform/feature.ts'
import { apiKeyActions } from './actions.ts'
import { apiKeysAdmin } from './admin.ts'
import { apiKeyCommands } from './commands.ts'
import { type ApiKeysDb, apiKeyTables } from './schema.ts'
import { createApiKeys } from './service.ts'

/** The keys with which the app's other servers call the server API. */
export const apiKeysFeature = {
  tables: apiKeyTables,
  commands: apiKeyCommands,
  actions: apiKeyActions,
  create(platform: Platform<ApiKeysDb>) {
    const apiKeys = createApiKeys(platform)
    return {
      services: { apiKeys },
      consoleRoutes: (context: ConsoleContext) => apiKeysAdmin({ apiKeys, ...context }),
      jobs: [
        {
          name: 'last use of API keys',
          schedule: ['* * * * *'],
          run: apiKeys.flushUses,
          runsOnEveryInstance: true,
        },
      ],
    }
  },
} satisfies Feature
