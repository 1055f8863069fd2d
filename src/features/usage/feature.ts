import type { Feature, Platform, RouteContext, ServerContext } from '../../platform/feature.ts'
import { partOfExport } from '../../platform/http/replies/envelope.ts'
import { byForeignKey, nothing } from '../../platform/user-table.ts'
import { usageConsole } from './console.ts'
import { usageLists } from './lists.ts'
import { serverUsageTags, UsageReply, usageExport, usageTags } from './model.ts'
import { usageRoutes } from './routes.ts'
import { type UsageDb, usageTables } from './schema.ts'
import { serverUsageRoutes } from './server/routes.ts'
import { createUsage } from './service.ts'

type Needs = Pick<
  Parameters<typeof createUsage>[0],
  'isUser' | 'isUserWithin' | 'findAllowance' | 'knownLimits' | 'onLimitReached'
>

/** What users have used of their plans' limits. */
export const usageFeature = {
  tables: usageTables,
  commands: [],
  lists: usageLists,
  tags: usageTags,
  serverTags: serverUsageTags,
  exportMembers: usageExport,
  clientModels: {
    LimitUsage: UsageReply.properties.response.items,
    UsageExport: partOfExport(usageExport, 'what the user has used'),
  },
  create(platform: Platform<UsageDb>, needs: Needs) {
    const usage = createUsage({ ...platform, ...needs })
    return {
      services: { usage },
      routes: ({ signedIn }: RouteContext) => usageRoutes({ usage, signedIn }),
      serverRoutes: ({ scopeGuard }: ServerContext) => serverUsageRoutes({ usage, scopeGuard }),
      consoleRoutes: () => usageConsole({ usage }),
      jobs: [
        {
          name: 'old usage',
          schedule: ['15 * * * *'],
          run: usage.archiveAndDeleteOld,
          deletesByAge: true,
        },
      ],
      userData: {
        usageCounters: {
          deletion: byForeignKey,
          export: { usage: usage.readHistory },
          merging: usage.mergeGuest,
        },
        usageHistory: {
          deletion: byForeignKey,
          export: nothing('exported with the counters'),
          merging: nothing('a guest’s past periods no longer count'),
        },
        usageRequests: {
          deletion: byForeignKey,
          export: nothing('outcomes of the last day’s requests, kept for retries'),
          merging: nothing('a retry names the guest, who no longer exists'),
        },
      },
    }
  },
} satisfies Feature
