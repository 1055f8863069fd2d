import { Elysia, type TSchema } from 'elysia'
import type {
  ConsoleContext,
  Feature,
  Platform,
  RouteContext,
  ServerContext,
} from '../../platform/feature.ts'
import { byForeignKey, nothing } from '../../platform/user-table.ts'
import { storeAdmin } from '../stores/admin.ts'
import { storeCommands } from '../stores/commands.ts'
import { playRoutes } from '../stores/google/push/routes.ts'
import { purchaseCommands } from '../stores/purchases/commands.ts'
import { purchaseRoutes } from '../stores/purchases/routes.ts'
import { storeRoutes } from '../stores/routes.ts'
import type { PlanLike } from './access/subscription.ts'
import { billingAdmin } from './admin.ts'
import { type BillingNeeds, createBillingParts } from './billing.ts'
import { businessAdmin } from './business/admin.ts'
import { businessCommands } from './business/commands.ts'
import { billingCommands } from './commands.ts'
import { grantsAdmin } from './grants/admin.ts'
import { grantCommands } from './grants/commands.ts'
import { grantRoutes } from './grants/routes.ts'
import { billingJobs } from './jobs.ts'
import { billingExport, billingPlainPaths, billingTags } from './model.ts'
import { subscriptionRoutes } from './routes/subscription.ts'
import { webhookRoutes } from './routes/webhook.ts'
import { type BillingDb, billingTables } from './schema.ts'
import { serverBillingTags } from './server/model.ts'
import { serverBillingRoutes } from './server/routes.ts'

type Needs<Plan extends PlanLike> = BillingNeeds<Plan> & {
  planSchema: TSchema
  /** The user with this app user id, in the form that the console shows; null for none. */
  findUser: (appUserId: string) => Promise<unknown>
  isUser: (id: string) => Promise<boolean>
  /** The id of the user with an e-mail address, or null. */
  userIdOf: (email: string) => Promise<string | null>
}

/** The billing provider's events, and what users have paid for. */
export const billingFeature = {
  tables: billingTables,
  commands: [
    ...billingCommands,
    ...businessCommands,
    ...storeCommands,
    ...purchaseCommands,
    ...grantCommands,
  ],
  tags: billingTags,
  serverTags: serverBillingTags,
  exportMembers: billingExport,
  plainPaths: billingPlainPaths,
  create<Plan extends PlanLike>(platform: Platform<BillingDb>, needs: Needs<Plan>) {
    const { config, secrets, now, log } = platform
    const showsSandbox = config.billingSandbox === 'separate'
    const parts = createBillingParts({
      ...platform,
      ...needs,
      pseudonymKey: secrets.pseudonymKey,
      sealKey: secrets.sealKey,
      ignoresSandbox: config.billingSandbox === 'ignore',
      showsSandbox,
      subscriberApi: { url: config.rcApiUrl, key: config.rcApiKey },
      settings: config,
      publicUrl: config.baseUrl,
      ratesBase: config.ratesBase,
    })
    const { eventInbox, erasure, subscription, stores } = parts
    const byAliases = nothing('the functions of billingAliases also erase and merge these rows')
    return {
      services: parts,
      routes: ({ signedIn, ipOf }: RouteContext) =>
        subscriptionRoutes({ planSchema: needs.planSchema, subscription, showsSandbox, signedIn })
          .use(
            webhookRoutes({
              eventInbox,
              tokens: config.webhookTokens,
              signingSecret: config.webhookSigningSecret,
              now,
            }),
          )
          .use(
            playRoutes({
              eventInbox,
              play: stores.play,
              ipOf,
              hasLimits: platform.limits.isOn,
              now,
            }),
          )
          .use(storeRoutes({ eventInbox, ...stores, ipOf, hasLimits: platform.limits.isOn, now }))
          .use(
            purchaseRoutes({
              planSchema: needs.planSchema,
              submit: stores.submit,
              subscription,
              limits: platform.limits,
              showsSandbox,
              ipOf,
              signedIn,
            }),
          ),
      serverRoutes: ({ scopeGuard, recordByKey }: ServerContext) =>
        serverBillingRoutes({ ...needs, subscription, showsSandbox, scopeGuard }).use(
          grantRoutes({ grants: parts.grants, scopeGuard, recordByKey }),
        ),
      consoleRoutes: (context: ConsoleContext) =>
        new Elysia({ name: 'billing-console' })
          .use(billingAdmin({ ...parts, ...needs, ...context, log }))
          .use(storeAdmin({ ...needs, ...context, stores }))
          .use(businessAdmin(parts))
          .use(grantsAdmin({ grants: parts.grants, record: context.record })),
      jobs: billingJobs(parts),
      userData: {
        billingAliases: {
          deletion: erasure.eraseUser,
          export: {
            subscription: (userId: string) => subscription.readForExport(userId, 'production'),
            sandboxSubscription: (userId: string) => subscription.readForExport(userId, 'sandbox'),
            billingIds: erasure.idsOfUser,
          },
          merging: eventInbox.aliasUsers,
        },
        billingEvents: {
          deletion: byAliases,
          export: { billingEvents: erasure.eventsOfUser },
          merging: byAliases,
        },
        playClaims: {
          deletion: stores.pendingClaims.eraseUser,
          export: nothing(
            'Google confirms them within days, and then they are exported as purchases',
          ),
          merging: stores.pendingClaims.mergeUsers,
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
