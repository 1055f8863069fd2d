import type { TSchema } from 'elysia'
import { hmac } from '../../lib/crypto/hash.ts'
import type { Feature, Platform, RouteContext } from '../../platform/feature.ts'
import { nothing } from '../../platform/user-table.ts'
import type { PlanLike } from '../billing/access/subscription.ts'
import type { createBillingParts } from '../billing/billing.ts'
import type { StoreSupport } from '../billing/console.ts'
import { storeActions } from './actions.ts'
import { appleEvent } from './apple/event.ts'
import { storeCommands } from './commands.ts'
import { storeConditions, storeMetrics } from './conditions.ts'
import { storeConsole } from './console.ts'
import { playEvent } from './google/event.ts'
import { playRoutes } from './google/push/routes.ts'
import { storeJobs } from './jobs.ts'
import {
  AppStorePurchase,
  PlayStorePurchase,
  PurchaseSubmission,
  StripePurchase,
  storePlainPaths,
} from './model.ts'
import { purchaseActions } from './purchases/actions.ts'
import { purchaseCommands } from './purchases/commands.ts'
import { NO_APPLE_KEY, NO_PLAY } from './purchases/links.ts'
import { purchaseLists } from './purchases/lists.ts'
import { purchaseRoutes } from './purchases/routes.ts'
import { storeRoutes } from './routes.ts'
import { type StoresDb, storeTables } from './schema.ts'
import { createStores, type StoresNeeds } from './stores.ts'
import { checkoutRoutes } from './stripe/checkout/routes.ts'
import { stripeConditions, stripeMetrics } from './stripe/conditions.ts'
import { stripeEvent } from './stripe/events/event.ts'
import { CheckoutReply, CheckoutRequest, PortalRequest } from './stripe/model.ts'
import { stripeRoutes } from './stripe/routes.ts'
import { stripeGerman } from './stripe/translations.ts'

type Needs = StoresNeeds & {
  billing: ReturnType<typeof createBillingParts<PlanLike>>
  planSchema: TSchema
  findIdByEmail: (email: string) => Promise<string | null>
}

export const storeEventReaders = {
  app_store: appleEvent,
  play_store: playEvent,
  stripe: stripeEvent,
}

export const storesFeature = {
  tables: storeTables,
  commands: [...storeCommands, ...purchaseCommands],
  lists: purchaseLists,
  actions: [...storeActions, ...purchaseActions],
  conditions: { ...storeConditions, ...stripeConditions },
  metrics: { ...storeMetrics, ...stripeMetrics },
  plainPaths: storePlainPaths,
  translations: { de: stripeGerman },
  clientModels: {
    AppStorePurchase,
    PlayStorePurchase,
    StripePurchase,
    Checkout: CheckoutReply,
    CheckoutRequest,
    PortalRequest,
    SubmittedPurchase: PurchaseSubmission.properties.purchases.items,
  },
  create(platform: Platform<StoresDb>, { billing, ...needs }: Needs) {
    const { config, secrets, now, limits } = platform
    const { eventInbox, subscription } = billing
    const ownOrigins = config.corsOrigins.filter((origin) => origin.startsWith('https://'))
    const showsSandbox = config.billingSandbox === 'separate'
    const stores = createStores({
      ...platform,
      ...needs,
      ...billing,
      findCustomerUser: billing.holders.findCustomerUser,
      readSubscription: subscription.read,
      serverId: hmac(secrets.pseudonymKey, 'stripe').slice(0, 16),
      settings: config,
      ignoresSandbox: config.billingSandbox === 'ignore',
      publicUrl: config.baseUrl,
      sealKey: secrets.sealKey,
    })
    const storeSupport = (): StoreSupport => ({
      refreshFromAppStore: stores.overdue === null ? NO_APPLE_KEY : null,
      refreshFromGooglePlay: stores.play === null ? NO_PLAY : null,
    })
    return {
      services: { stores, storeSupport },
      routes: ({ signedIn, findIp }: RouteContext) => {
        const shared = { eventInbox, findIp, hasLimits: limits.isOn, now }
        return playRoutes({ ...shared, play: stores.play })
          .use(storeRoutes({ ...shared, ...stores }))
          .use(stripeRoutes({ ...shared, stripe: stores.stripe }))
          .use(
            checkoutRoutes({
              stripe: stores.stripe,
              origins: config.checkoutOrigins.length > 0 ? config.checkoutOrigins : ownOrigins,
              limits,
              showsSandbox,
              signedIn,
            }),
          )
          .use(
            purchaseRoutes({
              planSchema: needs.planSchema,
              submit: stores.submit,
              subscription,
              limits,
              showsSandbox,
              findIp,
              signedIn,
            }),
          )
      },
      consoleRoutes: () => storeConsole({ stores }),
      queues: [stores.play, stores.overdue, stores.stripe].flatMap((part) => part?.queue ?? []),
      jobs: storeJobs(stores),
      userData: {
        playClaims: {
          deletion: stores.pendingClaims.eraseUser,
          export: nothing(
            'Google confirms them within days, and then they are exported as purchases',
          ),
          merging: stores.pendingClaims.mergeUsers,
        },
        ...stores.stripeUserData,
      },
    }
  },
} satisfies Feature
