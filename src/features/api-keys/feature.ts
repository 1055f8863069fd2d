import type { Feature, Platform } from '../../platform/feature.ts'
import { apiKeyActions } from './actions.ts'
import { apiKeyLists } from './lists.ts'
import { type ApiKeysDb, apiKeyTables } from './schema.ts'
import { createApiKeys } from './service.ts'

/** The keys with which the app's other servers call the server API. */
export const apiKeysFeature = {
  tables: apiKeyTables,
  commands: [],
  lists: apiKeyLists,
  actions: apiKeyActions,
  create(platform: Platform<ApiKeysDb>) {
    const apiKeys = createApiKeys(platform)
    return {
      services: { apiKeys },
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
