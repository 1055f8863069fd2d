import type { TSchema } from 'elysia'
import type { Reader } from '../../platform/db/db.ts'
import type { ConsoleContext, Feature, Platform, RouteContext } from '../../platform/feature.ts'
import { nothing } from '../../platform/user-table.ts'
import type { PlanLike } from './access/subscription.ts'
import { billingAdmin } from './admin.ts'
import { createBillingParts } from './billing.ts'
import { billingCommands } from './commands.ts'
import { billingJobs } from './jobs.ts'
import { billingExport, billingPlainPaths, billingTags } from './model.ts'
import type { FoldingSizes } from './projection/checkpoints.ts'
import { billingRoutes } from './routes.ts'
import { type BillingDb, billingTables } from './schema.ts'
import { APPLE_ROOT } from './stores/apple/certificates.ts'
import { createTokenVerifier } from './stores/apple/token.ts'
import { storeRoutes } from './stores/routes.ts'

type Needs<Plan extends PlanLike> = {
  /** The plans, in the best matching language of `wanted`. */
  listPlans: (wanted: string[]) => Promise<{ plans: Plan[]; language: string }>
  planSchema: TSchema
  /** The `ids` that belong to users. */
  existingUsers: (from: Reader, ids: string[]) => Promise<string[]>
  /** The user with this app user id, in the form that the console shows; null for none. */
  findUser: (appUserId: string) => Promise<unknown>
  /** Overridden only in tests. */
  sizes?: FoldingSizes | undefined
}

/** The billing provider's events, and what users have paid for. */
export const billingFeature = {
  tables: billingTables,
  commands: billingCommands,
  tags: billingTags,
  exportMembers: billingExport,
  plainPaths: billingPlainPaths,
  create<Plan extends PlanLike>(platform: Platform<BillingDb>, needs: Needs<Plan>) {
    const { config, secrets, now, log } = platform
    const parts = createBillingParts({
      ...platform,
      ...needs,
      pseudonymKey: secrets.pseudonymKey,
      ignoresSandbox: config.billingSandbox === 'ignore',
      subscriberApi: { url: config.rcApiUrl, key: config.rcApiKey },
    })
    const { billing, erasure, subscription } = parts
    const appStoreRoot = config.appStoreRoot ?? APPLE_ROOT
    const withAliases = nothing('erased and merged with billingAliases')
    return {
      services: parts,
      routes: ({ signedIn }: RouteContext) =>
        billingRoutes({
          planSchema: needs.planSchema,
          billing,
          subscription,
          tokens: config.webhookTokens,
          signingSecret: config.webhookSigningSecret,
          showsSandbox: config.billingSandbox === 'separate',
          now,
          signedIn,
        }).use(
          storeRoutes({
            billing,
            apps: config.appStoreApps,
            verify: createTokenVerifier(appStoreRoot),
          }),
        ),
      consoleRoutes: ({ record }: ConsoleContext) =>
        billingAdmin({ ...parts, findUser: needs.findUser, record, log }),
      jobs: billingJobs(parts),
      userData: {
        billingAliases: {
          deletion: erasure.eraseUser,
          export: {
            subscription: (userId: string) => subscription.readForExport(userId, 'production'),
            sandboxSubscription: (userId: string) => subscription.readForExport(userId, 'sandbox'),
            billingIds: erasure.idsOfUser,
          },
          merging: billing.aliasUsers,
        },
        billingEvents: {
          deletion: withAliases,
          export: { billingEvents: erasure.eventsOfUser },
          merging: withAliases,
        },
        transferIds: {
          deletion: withAliases,
          export: nothing('exported with the TRANSFER events that name them'),
          merging: withAliases,
        },
      },
    }
  },
} satisfies Feature
