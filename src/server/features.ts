import type { TSchema } from 'elysia'
import { alertsFeature } from '../features/alerts/feature.ts'
import { apiKeysFeature } from '../features/api-keys/feature.ts'
import { attachmentsFeature } from '../features/attachments/feature.ts'
import { billingFeature } from '../features/billing/feature.ts'
import { billingExport, createSubscriptionReply } from '../features/billing/model.ts'
import type { FoldingSizes } from '../features/billing/projection/checkpoints.ts'
import { changesFeature } from '../features/changes/feature.ts'
import { contentFeature } from '../features/content/feature.ts'
import { dataFeature } from '../features/data/feature.ts'
import { operatorsFeature } from '../features/operators/feature.ts'
import { plansFeature } from '../features/plans/feature.ts'
import { PlanReply } from '../features/plans/model.ts'
import { ratesFeature } from '../features/rates/feature.ts'
import type { Peg } from '../features/rates/table.ts'
import { settingsFeature } from '../features/settings/feature.ts'
import { storeEventReaders, storesFeature } from '../features/stores/feature.ts'
import { createSubmissionReply } from '../features/stores/model.ts'
import { usageFeature } from '../features/usage/feature.ts'
import { createAccounts } from '../features/users/accounts/accounts.ts'
import { usersFeature } from '../features/users/feature.ts'
import type { IdentityProviders } from '../features/users/social/identity-providers.ts'
import { webhooksFeature } from '../features/webhooks/feature.ts'
import type { WebhooksDeps } from '../features/webhooks/webhooks.ts'
import type { DeleteAccount } from '../lib/active-subscriptions.ts'
import { sha256 } from '../lib/crypto/hash.ts'
import { findPlanLimits } from '../lib/time/limit-period.ts'
import type { ConditionList } from '../platform/conditions/condition.ts'
import type { ReadMetric } from '../platform/conditions/measurements.ts'
import type { OpenDb } from '../platform/db/db.ts'
import type { FeatureParts } from '../platform/feature.ts'
import { partOfExport } from '../platform/http/replies/envelope.ts'
import { publicUrl } from '../platform/public-url.ts'
import { type Intersection, merge } from './merge.ts'
import { type createPlatform, platformDeclarations } from './platform.ts'
import { createUserData } from './user-data.ts'
import { createWebhookEvents } from './webhook-events.ts'

/** `declarations.ts` merges what the features declare. */
export const FEATURES = [
  platformDeclarations,
  settingsFeature,
  plansFeature,
  ratesFeature,
  contentFeature,
  usersFeature,
  changesFeature,
  dataFeature,
  attachmentsFeature,
  billingFeature,
  storesFeature,
  operatorsFeature,
  usageFeature,
  apiKeysFeature,
  webhooksFeature,
  alertsFeature,
] as const

export type Tables = Intersection<ReturnType<(typeof FEATURES)[number]['tables']>>

const Subscription = createSubscriptionReply(PlanReply)
const SubmittedPurchases = createSubmissionReply(Subscription)

/** The models of the client package that contain models of several features. */
export const connectedModels = {
  BillingExport: partOfExport(
    { subscription: Subscription, sandboxSubscription: Subscription, ...billingExport },
    'the purchases',
  ),
  Entitlement: Subscription.properties.entitlements.items,
  PlanLimits: Subscription.properties.limits.anyOf[0],
  PurchaseResult: SubmittedPurchases.properties.results.items,
  SubmittedPurchases,
  Subscription,
  SubscriptionLine: Subscription.properties.subscriptions.items,
}

/** Set only by tests. */
export type FeatureOverrides = {
  providers?: IdentityProviders
  appleUrl?: string
  /** The batch sizes of folding. */
  foldingSizes?: FoldingSizes
  /** How old an event must be to count in the business figures. */
  countingDelayMs?: number
  /** How many purchases are queried at Google, or at Stripe, per second. */
  requestsPerSecond?: number
  /** How webhooks are sent. */
  webhookSending?: Pick<WebhooksDeps, 'resolve' | 'timeoutMs' | 'ca' | 'random'> | undefined
}

export type FeaturesDeps = FeatureOverrides & {
  pegs: Peg[]
  imageCommand: string[]
  readMetric: ReadMetric
  conditions: ConditionList
  /** The schema of a user's export. */
  exportSchema: TSchema
}

type ServerPlatform = Awaited<ReturnType<typeof createPlatform<OpenDb<Tables>>>>

/** Creates every feature, in the order in which their routes are matched. */
export function createFeatures(platform: ServerPlatform, deps: FeaturesDeps) {
  const accounts = createAccounts({
    ...platform,
    onChange: async (tx, change) => {
      if (change.kind === 'updated') await changes.record(tx, change.account.id, 'profile')
      await webhookEvents.emitAccountChange(tx, change)
    },
  })
  const existingUsers = accounts.filterExisting
  const userData = createUserData(platform.db, () =>
    parts.flatMap(({ userData: tables = {} }: FeatureParts) => Object.values(tables)),
  )
  const deleteAccount: DeleteAccount = async (userId) => {
    // Deleting the user ends the subscriptions of the user's customers at Stripe.
    const ended = (await stores.services.stores.stripe?.customers.findKeys(userId)) ?? []
    const active = await subscription.listActive(userId, ended)
    await userData.deleteAccount(userId, (tx) =>
      users.services.users.notifyOfCharges(tx, userId, active),
    )
    return active
  }
  const changesPart = changesFeature.create(platform, {
    activeSessions: (ids) => users.services.users.sessions.filterActive(ids),
  })
  const { changes } = changesPart.services
  const content = contentFeature.create(platform)
  const settings = settingsFeature.create(platform, {
    bumpVersion: async (tx) => {
      await content.services.content.bump(tx, 'appSetting')
      await changes.recordForAll(tx, 'settings')
    },
    listPlans: async () => {
      const catalogue = await plans.services.plans.listInLanguages(['en'])
      return [...catalogue.plans, ...catalogue.archived]
    },
    findPlanCode: async (userId) => (await subscription.readPlan(userId)).plan?.code ?? null,
  })
  const data = dataFeature.create(platform, {
    existingUsers,
    recordChange: (tx, userId) => changes.record(tx, userId, 'data'),
  })
  const plans = plansFeature.create(platform)
  const rates = ratesFeature.create(platform, deps)
  const attachments = attachmentsFeature.create(platform, {
    imageCommand: deps.imageCommand,
    existingUsers,
    clearAvatar: accounts.clearAvatar,
    onSupportFile: (tx, { userId, ...file }) =>
      emit(tx, { type: 'file.added', userId, data: { userId, file } }),
    isUser: accounts.exists,
  })
  const aboutUsersAndPlans = {
    existingUsers,
    findUser: async (id: string) =>
      (await users.services.users.directory.listByIds([id]))[0] ?? null,
    listPlans: async (wanted: string[]) => ({
      ...(await plans.services.plans.listInLanguages(wanted)),
      rates: (await rates.services.rates.readIfServed())?.rates ?? {},
    }),
    planSchema: PlanReply,
  }
  const billing = billingFeature.create(platform, {
    ...aboutUsersAndPlans,
    signingKeys: platform.signingKeys,
    eventReaders: storeEventReaders,
    onApplied: (tx, provider, event) => stores.services.stores.scheduleCheck(tx, provider, event),
    findClaimant: (key) => stores.services.stores.claims.findClaimant(key),
    findLink: (key) => stores.services.stores.claims.findLink(key),
    storeSupport: () => stores.services.storeSupport(),
    isUser: accounts.exists,
    isUserWithin: accounts.existsWithin,
    onAccessChange: async (tx, change) => {
      const { userId, previous, current } = change
      await changes.record(tx, userId, 'subscription')
      // Rules of settings may name plans.
      if (previous.plan !== current.plan) await changes.record(tx, userId, 'settings')
      await webhookEvents.emitAccessChange(tx, change)
    },
    readRates: rates.services.rates.readDays,
    countingDelayMs: deps.countingDelayMs,
    sizes: deps.foldingSizes,
  })
  const stores = storesFeature.create(platform, {
    ...aboutUsersAndPlans,
    billing: billing.services,
    isGuest: async (from, userId) => (await accounts.find(from, userId)).loginType === 'guest',
    findIdByEmail: (email) => users.services.findIdByEmail(email),
    findEmail: async (userId) => {
      const { email, emailVerifiedAt } = await accounts.find(platform.db.read, userId)
      return emailVerifiedAt === null ? null : email
    },
    notifyFormerOwner: (tx, userId, productId) =>
      users.services.users.notifyOfMovedPurchase(tx, userId, productId),
    requestsPerSecond: deps.requestsPerSecond,
  })
  const { listing, attachments: files } = attachments.services
  const { subscription, eventSearch, accessSearch, timeline } = billing.services
  const users = usersFeature.create(platform, {
    ...userData,
    deleteAccount,
    accounts,
    signingKeys: platform.signingKeys,
    sendMail: platform.mailer.send,
    ownsPublicPicture: files.ownsPublicPicture,
    hasRecentAssets: async (userId, since) =>
      (await listing.hasFileSince(userId, since)) ||
      (await subscription.hasAccessSince(userId, since)),
    findPurchases: eventSearch.findPurchases,
    isEvent: eventSearch.exists,
    access: accessSearch,
    accessOf: timeline.summarize,
    onSessionsEnded: changes.recordEndedSessions,
    providers: deps.providers,
    appleUrl: deps.appleUrl,
    exportSchema: deps.exportSchema,
  })
  const usage = usageFeature.create(platform, {
    isUser: accounts.exists,
    isUserWithin: accounts.existsWithin,
    findAllowance: async (userId) => {
      const { plan, purchase, renewal } = await subscription.readPlan(userId)
      return {
        limits: plan ? findPlanLimits(plan) : [],
        // A hash, because the key of a purchase without a transaction names its user.
        purchaseKey: purchase && sha256(purchase.purchaseKey),
        renewal,
      }
    },
    knownLimits: plans.services.plans.knownLimits,
    onLimitReached: (tx, userId, reached) =>
      emit(tx, { type: 'usage.limit_reached', userId, data: { userId, ...reached } }),
  })
  const operators = operatorsFeature.create(platform)
  const apiKeys = apiKeysFeature.create(platform)
  const webhooks = webhooksFeature.create(platform, {
    alertOperators: users.services.users.alertOperators,
    sending: deps.webhookSending,
  })
  const { emit } = webhooks.services.webhooks
  const webhookEvents = createWebhookEvents(
    { emit },
    platform.config.filesPublicUrl ?? publicUrl(platform.config),
  )
  const alerts = alertsFeature.create(platform, {
    readMetric: deps.readMetric,
    conditions: deps.conditions,
    alertOperators: users.services.users.alertOperators,
    announce: (tx, type, data) => emit(tx, { type, userId: null, data }),
  })
  const parts = [
    settings,
    plans,
    rates,
    content,
    users,
    changesPart,
    data,
    attachments,
    billing,
    stores,
    usage,
    operators,
    apiKeys,
    webhooks,
    alerts,
  ]
  type Services = Intersection<(typeof parts)[number]['services']>
  const services = merge<unknown>(parts.map((part) => part.services)) as Services
  return { parts: parts as FeatureParts[], services }
}
