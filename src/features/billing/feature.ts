import { Elysia, type TSchema } from 'elysia'
import type { KeyRing } from '../../lib/crypto/key-ring.ts'
import type { Feature, Platform, RouteContext, ServerContext } from '../../platform/feature.ts'
import { byForeignKey, nothing } from '../../platform/user-table.ts'
import { createProofs } from './access/proof.ts'
import type { PlanLike } from './access/subscription.ts'
import { billingActions } from './actions.ts'
import { type BillingNeeds, createBillingParts } from './billing.ts'
import { businessCommands } from './business/commands.ts'
import { businessConsole } from './business/console.ts'
import { billingCommands } from './commands.ts'
import { billingConditions, billingMetrics } from './conditions.ts'
import { billingConsole, type StoreSupport } from './console.ts'
import { grantActions } from './grants/actions.ts'
import { accessList } from './grants/commands.ts'
import { grantRoutes } from './grants/routes.ts'
import { billingJobs } from './jobs.ts'
import { billingLists } from './lists.ts'
import { billingExport, billingPlainPaths, billingTags } from './model.ts'
import { subscriptionRoutes } from './routes/subscription.ts'
import { webhookRoutes } from './routes/webhook.ts'
import { type BillingDb, billingTables } from './schema.ts'
import { serverBillingTags } from './server/model.ts'
import { serverBillingRoutes } from './server/routes.ts'

type Needs<Plan extends PlanLike> = BillingNeeds<Plan> & {
  planSchema: TSchema
  findUser: (appUserId: string) => Promise<unknown>
  isUser: (id: string) => Promise<boolean>
  storeSupport: () => StoreSupport
  signingKeys: KeyRing
}

export const billingFeature = {
  tables: billingTables,
  commands: [...billingCommands, ...businessCommands, accessList],
  lists: billingLists,
  actions: [...billingActions, ...grantActions],
  conditions: billingConditions,
  metrics: billingMetrics,
  tags: billingTags,
  serverTags: serverBillingTags,
  exportMembers: billingExport,
  plainPaths: billingPlainPaths,
  create<Plan extends PlanLike>(platform: Platform<BillingDb>, needs: Needs<Plan>) {
    const { config, secrets, now } = platform
    const showsSandbox = config.billingSandbox === 'separate'
    const parts = createBillingParts({
      ...platform,
      ...needs,
      pseudonymKey: secrets.pseudonymKey,
      ignoresSandbox: config.billingSandbox === 'ignore',
      showsSandbox,
      subscriberApi: { url: config.rcApiUrl, key: config.rcApiKey },
      settings: config,
      ratesBase: config.ratesBase,
    })
    const { eventInbox, erasure, subscription } = parts
    const byAliases = nothing('the functions of billingAliases also erase and merge these rows')
    return {
      services: { ...parts, listPlans: needs.listPlans },
      routes: ({ signedIn }: RouteContext) =>
        subscriptionRoutes({
          planSchema: needs.planSchema,
          subscription,
          signProof: createProofs(needs.signingKeys, now),
          showsSandbox,
          signedIn,
        }).use(
          webhookRoutes({
            eventInbox,
            tokens: config.webhookTokens,
            signingSecret: config.webhookSigningSecret,
            now,
          }),
        ),
      serverRoutes: ({ scopeGuard }: ServerContext) =>
        serverBillingRoutes({ ...needs, subscription, showsSandbox, scopeGuard }).use(
          grantRoutes({ ...parts, scopeGuard }),
        ),
      consoleRoutes: () =>
        new Elysia({ name: 'billing-console' })
          .use(billingConsole({ ...parts, ...needs }))
          .use(businessConsole(parts)),
      queues: [parts.backlog],
      jobs: billingJobs(parts),
      userData: {
        billingAliases: {
          deletion: erasure.eraseUser,
          export: {
            subscription: (userId: string) => subscription.readForExport(userId, 'production'),
            sandboxSubscription: (userId: string) => subscription.readForExport(userId, 'sandbox'),
            billingIds: erasure.exportIds,
          },
          merging: eventInbox.aliasUsers,
        },
        billingEvents: {
          deletion: byAliases,
          export: { billingEvents: erasure.exportEvents },
          merging: byAliases,
        },
        accessStates: {
          deletion: byForeignKey,
          export: nothing('derived from the purchases, which are exported'),
          merging: nothing('the merged customer’s purchases give the account its state'),
        },
        transferIds: {
          deletion: byAliases,
          export: nothing('exported with the TRANSFER events that name them'),
          merging: byAliases,
        },
      },
    }
  },
} satisfies Feature
