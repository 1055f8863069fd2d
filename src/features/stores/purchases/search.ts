import { and, eq, gt, inArray, lt } from 'drizzle-orm'
import { createTaskQueue } from '../../../lib/concurrency/slots.ts'
import { AppError } from '../../../lib/errors.ts'
import { findPage } from '../../../platform/lists/find-page.ts'
import { createSources } from '../../../platform/lists/sources.ts'
import type { ExistingUsers } from '../../../platform/user-table.ts'
import { isoTime } from '../../billing/access/access-explanation.ts'
import { computeAccessStatus } from '../../billing/access/access-search.ts'
import type { AccessSettings } from '../../billing/access/assessment.ts'
import type { Catalogue } from '../../billing/access/plan-matching.ts'
import type { PlanLike } from '../../billing/access/subscription.ts'
import { type Environment, storedEnvironment, toEnvironment } from '../../billing/environment.ts'
import { isPseudonym } from '../../billing/inbox/erasure.ts'
import type { Transactions } from '../../billing/inbox/transactions.ts'
import { readPurchase } from '../../billing/projection/fold-state.ts'
import { isOneTime } from '../../billing/purchases/access.ts'
import { NO_CUSTOMER } from '../../billing/purchases/ownership.ts'
import { findSource, type Purchase } from '../../billing/purchases/purchase.ts'
import {
  listKeys,
  parsePurchaseKey,
  parseTransactionId,
} from '../../billing/purchases/purchase-key.ts'
import { AppleApiError } from '../apple/api-error.ts'
import type { AppStore } from '../apple/app-store.ts'
import type { Play } from '../google/play.ts'
import type { StoresDb } from '../schema.ts'
import type { Stripe } from '../stripe/stripe.ts'
import { createAssessment, isDiffering } from './assessment.ts'
import type { Claims } from './claims.ts'

type PurchaseSearchDeps = {
  db: StoresDb
  transactions: Pick<Transactions, 'listPossibleKeys'>
  claims: Pick<Claims, 'findOwner' | 'findClaimant' | 'findLink'>
  existingUsers: ExistingUsers
  /** Null if there is no key for Apple's API. */
  appStore: AppStore | null
  /** Null if Google Play is not set up. */
  play: Pick<Play, 'purchases'> | null
  /** Null if Stripe is not set up. */
  stripe: Pick<Stripe, 'findPurchases'> | null
  listPlans: (wanted: string[]) => Promise<Catalogue<PlanLike>>
  accessSettings: AccessSettings
  now: () => Date
}

type Row = StoresDb['tables']['subscriptions']['$inferSelect']
export type FoundPurchase = Awaited<ReturnType<PurchaseSearch['find']>>[number]
export type PurchaseSearch = ReturnType<typeof createPurchaseSearch>

/**
 * `unclaimed`: no user has it. `doubled`: its customer has the product twice. `differing`: the provider and the store
 * disagree about its period. `unacknowledged`: Google refunds it after three days. `gone`: Google no longer knows it.
 */
export const PURCHASE_FILTERS = [
  'unclaimed',
  'doubled',
  'differing',
  'unacknowledged',
  'gone',
] as const
type PurchaseFilter = (typeof PURCHASE_FILTERS)[number]

type ListOptions = {
  filter?: PurchaseFilter | null | undefined
  environment?: Environment | undefined
  /** Default: `transaction`, ascending. */
  sort?: (typeof PURCHASE_ORDERS)[number] | undefined
  after?: string | undefined
  limit: number
  /** The most rows to examine: the command line may take longer than a page of the console. */
  maxScanned?: number
  /** Ends the search early, when the caller has given up. */
  signal?: AbortSignal
}

export const PURCHASE_ORDERS = ['transaction', '-transaction', 'latest', '-latest'] as const

const NO_LINES = { lines: [], next: null }
const MAX_WAITING = 20
/** Examining this many purchases takes a few seconds. */
const MAX_ROWS_SCANNED = 100_000

export function createPurchaseSearch(deps: PurchaseSearchDeps) {
  const { db, transactions, claims, existingUsers, appStore, play, stripe } = deps
  const { subscriptions, billingAliases } = db.tables
  const searchInTurn = createTaskQueue({ limit: 1, queueLimit: MAX_WAITING, onFull: tooMany })
  const filters = { unclaimed: keepUnclaimed, doubled: keepDoubled, differing: keepDiffering }
  return { find, findKnown, findOrThrow, listForUser, page }

  /**
   * Finds purchases by a transaction or order id, or by a token's SHA-256. Apple also knows later transactions and the
   * receipt's order number.
   */
  async function find(id: string) {
    const known = await findKnown(id)
    const isGoogleId = parseTransactionId(id).startsWith('GPA.')
    if (known.length > 0 || appStore === null || isGoogleId) return known
    try {
      return await withTransactions(await appStore.findTransactions(id))
    } catch (error) {
      if (error instanceof AppleApiError) return known
      throw error
    }
  }

  async function findOrThrow(id: string, environment?: Environment) {
    const all = await find(id)
    const found = environment ? all.filter((purchase) => purchase.environment === environment) : all
    if (found.length === 0) throw new AppError('not_found', `There is no purchase ${id}.`)
    return found
  }

  /** The latest first, also those that have ended. */
  async function listForUser(appUserId: string, options: Pick<ListOptions, 'after' | 'limit'>) {
    const customerId = await findCustomerId(appUserId)
    if (customerId === undefined) return { purchases: [], next: null }
    const { purchaseKey: key, latestAt: sortedBy } = subscriptions
    const sources = createSources(
      { read: db.read, table: subscriptions, key, isDescending: true },
      [{ where: eq(subscriptions.customerId, customerId), isIndexed: true, sortedBy }],
    )
    const { rows, next } = await findPage({ sources, ...options })
    return { purchases: await Promise.all(rows.map(toFoundPurchase)), next }
  }

  /** The purchases in the log with the given id. */
  async function findKnown(id: string) {
    const hashed = /^[0-9a-f]{64}$/.test(id) ? await play?.purchases.find(db.read, id) : null
    if (hashed) return withTransactions(hashed.items.map(({ line }) => line))
    const atStripe = (await stripe?.findPurchases(id)) ?? []
    if (atStripe.length > 0) return withTransactions(atStripe)
    return withKeys(await transactions.listPossibleKeys(id))
  }

  function withTransactions(ids: string[]) {
    return withKeys(ids.flatMap(listKeys))
  }

  async function withKeys(keys: string[]) {
    const rows = await db.read
      .select()
      .from(subscriptions)
      .where(inArray(subscriptions.purchaseKey, keys))
    return Promise.all(rows.map(toFoundPurchase))
  }

  /** The filters `unacknowledged` and `gone` are applied to Google's purchases. */
  async function page({ filter = null, ...options }: ListOptions) {
    if (filter === 'unacknowledged' || filter === 'gone') {
      const { lines, next } = (await play?.purchases.page(filter, options)) ?? NO_LINES
      const place = ({ transactionId }: { transactionId: string }) => lines.indexOf(transactionId)
      const purchases = await withTransactions(lines)
      return { purchases: purchases.toSorted((a, b) => place(a) - place(b)), next }
    }
    const find = () => findActive({ ...options, filter })
    const { rows, next } = filter === null ? await find() : await searchInTurn(find)
    return { purchases: await Promise.all(rows.map(toFoundPurchase)), next }
  }

  async function findActive({
    filter,
    environment = 'production',
    sort,
    ...options
  }: ListOptions & { filter: keyof typeof filters | null }) {
    const prefix = `${storedEnvironment(environment)}|`
    const key = subscriptions.purchaseKey
    const assess = await createAssessment(deps)
    const byKey = { where: and(gt(key, prefix), lt(key, `${prefix}~`)), isIndexed: true }
    const byTime = {
      where: eq(subscriptions.environment, storedEnvironment(environment)),
      isIndexed: true,
      sortedBy: subscriptions.latestAt,
    }
    const sources = createSources(
      {
        read: db.read,
        table: subscriptions,
        key,
        isDescending: sort?.startsWith('-') === true,
        async keep(rows) {
          const active = rows.filter((row) => assess(toPurchase(row)).active)
          if (filter === null) return active
          // Granted access is not a purchase: it cannot be claimed or paid for twice.
          return filters[filter](active.filter(({ state }) => !state.line.grant))
        },
      },
      [sort?.endsWith('latest') ? byTime : byKey],
    )
    return findPage({ sources, maxScanned: MAX_ROWS_SCANNED, ...options })
  }

  async function keepUnclaimed(rows: Row[]): Promise<Row[]> {
    const customers = rows.map(({ customerId }) => customerId)
    const aliases = await db.read
      .select()
      .from(billingAliases)
      .where(inArray(billingAliases.customerId, customers))
    const ids = aliases.map(({ appUserId }) => appUserId)
    const users = new Set(await existingUsers(db.read, ids))
    const owned = new Set(
      aliases.filter(({ appUserId }) => users.has(appUserId)).map((one) => one.customerId),
    )
    return rows.filter(({ customerId }) => !owned.has(customerId))
  }

  /** Those whose customer also has the product in another active purchase. Coins may be bought again. */
  async function keepDoubled(rows: Row[]): Promise<Row[]> {
    const owned = rows.filter(({ customerId }) => customerId !== NO_CUSTOMER)
    const customers = [...new Set(owned.map(({ customerId }) => customerId))]
    const all = await db.read
      .select()
      .from(subscriptions)
      .where(inArray(subscriptions.customerId, customers))
    const assess = await createAssessment(deps)
    const counted = all.filter((row) => {
      const purchase = assess(toPurchase(row))
      return purchase.active && purchase.productId !== null && !isOneTime(purchase)
    })
    const byProduct = Map.groupBy(counted, toProductKey)
    return owned.filter((row) => (byProduct.get(toProductKey(row)) ?? []).length > 1)
  }

  async function keepDiffering(rows: Row[]): Promise<Row[]> {
    return rows.filter((row) => isDiffering(toPurchase(row)))
  }

  /** Whether the customer has submitted the purchase; a merged guest is still an id of the customer. */
  async function isClaimedByOwner({ customerId, purchaseKey }: Row): Promise<boolean> {
    const claimant = await claims.findClaimant(purchaseKey)
    return claimant !== null && (await findCustomerId(claimant)) === customerId
  }

  async function findCustomerId(appUserId: string): Promise<string | undefined> {
    const [alias] = await db.read
      .select({ customerId: billingAliases.customerId })
      .from(billingAliases)
      .where(eq(billingAliases.appUserId, appUserId))
    return alias?.customerId
  }

  /** Times in ISO 8601. `isClaimed`: its owner has submitted it. */
  async function toFoundPurchase(row: Row) {
    const state = toPurchase(row)
    const purchase = (await createAssessment(deps))(state)
    const userId = await claims.findOwner(db.read, row.purchaseKey)
    const { transactionId } = parsePurchaseKey(row.purchaseKey)
    return {
      purchaseKey: row.purchaseKey,
      transactionId,
      environment: toEnvironment(row.environment),
      store: purchase.store,
      productId: purchase.productId,
      status: purchase.status,
      active: purchase.active,
      access: computeAccessStatus([purchase]),
      startedAt: isoTime(purchase.startedAt),
      endsAt: isoTime(purchase.effectiveEnd),
      willRenew: purchase.willRenew,
      source: findSource(purchase),
      link: await claims.findLink(row.purchaseKey),
      userId,
      isOwnerDeleted: isPseudonym(row.customerId),
      isClaimed: userId !== null && (await isClaimedByOwner(row)),
      state,
      atGoogle: purchase.store === 'PLAY_STORE' ? await findAtGoogle(transactionId) : null,
    }
  }

  /** Null if Homeport has no purchase token for it. */
  async function findAtGoogle(line: string) {
    const known = await play?.purchases.findByLine(line)
    if (!known) return null
    const { tokenHash, packageName, askedAt, dueAt, unacknowledgedSince, goneAt } = known
    return {
      tokenHash,
      packageName,
      askedAt: askedAt?.toISOString() ?? null,
      nextAskAt: dueAt?.toISOString() ?? null,
      unacknowledgedSince: unacknowledgedSince?.toISOString() ?? null,
      goneAt: goneAt?.toISOString() ?? null,
    }
  }
}

function tooMany() {
  return new AppError('unavailable', 'Other operators are searching. Try again in a few seconds.')
}

function toProductKey({ customerId, environment, state }: Row) {
  return `${customerId} ${environment} ${readPurchase(state).productId}`
}

function toPurchase({ state }: Row): Purchase {
  return readPurchase(state)
}
