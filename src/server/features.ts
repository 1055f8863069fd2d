import { attachmentsFeature } from '../features/attachments/feature.ts'
import { billingFeature } from '../features/billing/feature.ts'
import { SubscriptionReplyOf } from '../features/billing/model.ts'
import type { FoldingSizes } from '../features/billing/projection/checkpoints.ts'
import { contentFeature } from '../features/content/feature.ts'
import { operatorsFeature } from '../features/operators/feature.ts'
import { plansFeature } from '../features/plans/feature.ts'
import { PlanReply } from '../features/plans/model.ts'
import { ratesFeature } from '../features/rates/feature.ts'
import type { Peg } from '../features/rates/table.ts'
import { settingsFeature } from '../features/settings/feature.ts'
import { createAccounts } from '../features/users/accounts/accounts.ts'
import { usersFeature } from '../features/users/feature.ts'
import type { IdentityProviders } from '../features/users/social/identity-providers.ts'
import type { Columns } from '../platform/db/columns.ts'
import type { OpenDb } from '../platform/db/db.ts'
import type { Declarations, Feature, FeatureParts } from '../platform/feature.ts'
import { closedObject } from '../platform/http/envelope.ts'
import { createUserData } from '../usecases/user-data.ts'
import { type createPlatform, platformDeclarations } from './platform.ts'

/**
 * All features, with their declarations. `createFeatures` passes to each feature the services that
 * it needs from the others.
 */
const FEATURES = [
  platformDeclarations,
  settingsFeature,
  plansFeature,
  ratesFeature,
  contentFeature,
  usersFeature,
  attachmentsFeature,
  billingFeature,
  operatorsFeature,
] as const

type Command = (typeof FEATURES)[number]['commands'][number]
export type Tables = Intersection<ReturnType<(typeof FEATURES)[number]['tables']>>

export type FeaturesDeps = {
  pegs: Peg[]
  /** The command line of the image worker. */
  imageCommand: string[]
  /** The identity providers, and the batch sizes of folding; set only by tests. */
  providers?: IdentityProviders
  appleUrl?: string
  foldingSizes?: FoldingSizes
  /** How many purchases Google is asked about in a second. */
  asksPerSecond?: number
}

type ServerPlatform = Awaited<ReturnType<typeof createPlatform<OpenDb<Tables>>>>

/** Creates every feature, in the order in which their routes are matched. */
export function createFeatures(platform: ServerPlatform, deps: FeaturesDeps) {
  const accounts = createAccounts(platform)
  const existingUsers = accounts.filterExisting
  const userData = createUserData(platform.db, () =>
    parts.flatMap(({ userData: tables = {} }: FeatureParts) => Object.values(tables)),
  )
  const content = contentFeature.create(platform)
  const settings = settingsFeature.create(platform, {
    bumpVersion: (tx) => content.services.content.bump(tx, 'appSetting'),
  })
  const plans = plansFeature.create(platform)
  const rates = ratesFeature.create(platform, deps)
  const attachments = attachmentsFeature.create(platform, {
    imageCommand: deps.imageCommand,
    existingUsers,
    clearAvatar: accounts.clearAvatar,
  })
  const billing = billingFeature.create(platform, {
    listPlans: plans.services.plans.listIn,
    planSchema: PlanReply,
    existingUsers,
    findUser: async (id) => (await users.services.users.directory.listByIds([id]))[0] ?? null,
    isGuest: async (tx, userId) => (await accounts.find(tx, userId)).loginType === 'guest',
    userIdOf: (email) => users.services.userIdOf(email),
    notifyFormerOwner: (tx, userId, productId) =>
      users.services.users.notifyOfMovedPurchase(tx, userId, productId),
    sizes: deps.foldingSizes,
    asksPerSecond: deps.asksPerSecond,
  })
  const { listing, attachments: files } = attachments.services
  const { subscription, eventSearch } = billing.services
  const users = usersFeature.create(platform, {
    ...userData,
    accounts,
    signingKeys: platform.signingKeys,
    sendMail: platform.mailer.send,
    ownsPublicPicture: files.ownsPublicPicture,
    hasRecentAssets: async (userId, since) =>
      (await listing.hasFileSince(userId, since)) ||
      (await subscription.hasAccessSince(userId, since)),
    customerIdsOf: eventSearch.customerIdsOf,
    isEvent: eventSearch.exists,
    providers: deps.providers,
    appleUrl: deps.appleUrl,
    exportSchema: UserExport,
  })
  const operators = operatorsFeature.create(platform)
  const parts = [settings, plans, rates, content, users, attachments, billing, operators]
  type Services = Intersection<(typeof parts)[number]['services']>
  const services = Object.assign({}, ...parts.map((part) => part.services)) as Services
  return { parts: parts as FeatureParts[], services }
}

type Created = ReturnType<Extract<(typeof FEATURES)[number], Feature>['create']>
type RoutesOf<Parts> = Parts extends { routes: (context: never) => infer App } ? App : never

/** The documented routes by path and method, with the types of their requests and replies. */
export type Routes = Intersection<RoutesOf<Created>['~Routes']>

/** The tables of all features. Ids are UUIDv7 text generated by the server. */
export function buildTables(columns: Columns): Tables {
  const accounts = usersFeature.tables(columns)
  const others = FEATURES.filter((feature) => feature !== usersFeature)
  const tables = others.map((feature) => feature.tables(columns, accounts.users))
  return Object.assign({}, accounts, ...tables)
}

const declared: readonly Declarations[] = FEATURES

type ExportMembers = Intersection<
  Extract<(typeof FEATURES)[number], { exportMembers: object }>['exportMembers']
>
const Subscription = SubscriptionReplyOf(PlanReply)

/** A user's export: the members that features declare, and the subscriptions with their plans. */
export const UserExport = closedObject(
  {
    ...(merge(declared.map((feature) => feature.exportMembers)) as ExportMembers),
    subscription: Subscription,
    sandboxSubscription: Subscription,
  },
  'UserExport',
  'everything stored about the user',
)

/** The features' commands for the command line. */
export const commands = FEATURES.flatMap<Command>((feature) => feature.commands)

/** Translations of user-facing messages, by language. */
export const translations = { de: merge(declared.map(({ translations }) => translations?.['de'])) }

/** The tags of the routes, with their descriptions in the OpenAPI document. */
export const tags = merge(declared.map((feature) => feature.tags))

/** Paths that accept plain requests even if encryption is required: pages, the webhook and routes without secrets. */
export const plainPaths = declared.flatMap((feature) => feature.plainPaths ?? [])

function merge<Value>(records: (Record<string, Value> | undefined)[]): Record<string, Value> {
  return Object.assign({}, ...records)
}

/** The intersection of all members of a union. */
type Intersection<Union> = (Union extends unknown ? (member: Union) => void : never) extends (
  all: infer All,
) => void
  ? All
  : never
