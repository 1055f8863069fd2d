import { asc, eq, lte, sql } from 'drizzle-orm'
import { sha256 } from '../../../lib/crypto/hash.ts'
import {
  backfill,
  createCursor,
  END,
  repeatInBatches,
} from '../../../platform/db/batched-changes.ts'
import type { Tx } from '../../../platform/db/db.ts'
import { prepareFind, prepareUpdate, prepareUpsert } from '../../../platform/db/prepared.ts'
import type { ExistingUsers } from '../../../platform/user-table.ts'
import type { Environment } from '../environment.ts'
import { readPurchase } from '../projection/fold-state.ts'
import type { PurchaseAccess } from '../purchases/access.ts'
import { NO_CUSTOMER } from '../purchases/ownership.ts'
import type { Purchase } from '../purchases/purchase.ts'
import type { BillingDb } from '../schema.ts'
import { explainAccess } from './access-explanation.ts'
import { computeAccessStatus } from './access-search.ts'
import { type AccessState, computeAccessState, findNextChange } from './access-state.ts'
import { type AccessSettings, assessWithPlans, environmentsFor } from './assessment.ts'
import type { Holders } from './holders.ts'
import {
  type Catalogue,
  findGivenPlan,
  findMatchingFields,
  findPaidPlan,
  findPlanOfPurchase,
  listUnlocking,
} from './plan-matching.ts'
import type { PlanLike } from './subscription.ts'

/** A change in a user's access. `explain` returns the reason, in one sentence. */
export type AccessChange = {
  userId: string
  environment: Environment
  previous: AccessState
  current: AccessState
  explain: () => string
}

type AccessStatesDeps = {
  db: BillingDb
  holders: Pick<Holders, 'holderAmong'>
  /** In the language that best matches `wanted`. */
  listPlans: (wanted: string[]) => Promise<Catalogue<PlanLike>>
  existingUsers: ExistingUsers
  isUserWithin: (tx: Tx, id: string) => Promise<boolean>
  accessSettings: AccessSettings
  showsSandbox: boolean
  onAccessChange: (tx: Tx, change: AccessChange) => Promise<void>
  reportUnmatched: (purchases: PurchaseAccess[], catalogue: Catalogue) => void
  now: () => Date
}

export type AccessStates = ReturnType<typeof createAccessStates>

/** Progress of comparing all users' access with a version of the plans; `after`: the last customer compared. */
type PlansProgress = { version: string; after: string; isFirst: boolean }

/** A customer with more ids has a corrupt history; the rest of its ids are ignored here. */
const MAX_IDS = 1_000
/** Some customers buy many consumables. */
const MAX_PURCHASES = 10_000
const DUE_PER_CHANGE = 50
/** Increase it when a code change alters the access that the same purchases give. */
const RULES = 4
const CUSTOMERS_PER_CHANGE = 50

const NO_ACCESS = { status: null, plan: null }

/** Stores each user's access and announces each change once, in the same transaction, even if only time caused it. */
export function createAccessStates(deps: AccessStatesDeps) {
  const { db, holders, listPlans, existingUsers, isUserWithin, accessSettings, showsSandbox } = deps
  const { onAccessChange, reportUnmatched, now } = deps
  const { accessStates, billingAliases, subscriptions, reconciliation } = db.tables
  const findIds = db.prepareWrite((tx) =>
    tx
      .select({ id: billingAliases.appUserId })
      .from(billingAliases)
      .where(eq(billingAliases.customerId, sql.placeholder('customerId')))
      .limit(MAX_IDS),
  )
  const findPurchases = db.prepareWrite((tx) =>
    tx
      .select({ state: subscriptions.state })
      .from(subscriptions)
      .where(eq(subscriptions.customerId, sql.placeholder('customerId')))
      .limit(MAX_PURCHASES),
  )
  const findState = prepareFind(db, accessStates)
  const storeState = prepareUpsert(db, accessStates)
  /** Most events change neither the status nor the plan: this update leaves their indexes alone. */
  const updateState = prepareUpdate(db, accessStates)
  const cursor = createCursor(db, reconciliation, 'access by plans')
  return { compareAtEnd, announceDue, followPlans, compareAgain }

  /** Compares the access of a customer's users at the end of the transaction. `ids`: all ids of the customer, if known. */
  function compareAtEnd(tx: Tx, customerId: string, ids?: string[]) {
    if (customerId === NO_CUSTOMER) return
    tx.beforeCommit(`access ${customerId}`, (tx) =>
      updateCustomer(tx, customerId, onAccessChange, ids),
    )
  }

  /** Announces the changes that time alone has caused. */
  async function announceDue(signal: AbortSignal) {
    await repeatInBatches(db, DUE_PER_CHANGE, announceSomeDue, signal)
  }

  async function announceSomeDue(tx: Tx): Promise<number> {
    const due = await tx
      .select({ userId: accessStates.userId })
      .from(accessStates)
      .where(lte(accessStates.changesAt, now()))
      .orderBy(asc(accessStates.changesAt))
      .limit(DUE_PER_CHANGE)
    for (const { userId } of due) {
      // A user without a customer has no further changes.
      const isOwnRow = eq(accessStates.userId, userId)
      await tx.update(accessStates).set({ changesAt: null }).where(isOwnRow)
      const [alias] = await tx
        .select()
        .from(billingAliases)
        .where(eq(billingAliases.appUserId, userId))
      if (alias) await updateCustomer(tx, alias.customerId, onAccessChange)
    }
    return due.length
  }

  /**
   * Compares all users' access after a change of plans or access settings. The first run only stores access that is
   * older than this table or its newest columns, and announces nothing.
   */
  async function followPlans(signal: AbortSignal) {
    const { plans, archived } = await listPlans([])
    const fields = [plans, archived].map((list) => list.map(findMatchingFields))
    const { graceMs, sandboxTesters } = accessSettings
    const settings = [graceMs, [...sandboxTesters].toSorted(), showsSandbox]
    const version = sha256(JSON.stringify([RULES, settings, ...fields]), 'hex')
    const stored: PlansProgress | null = JSON.parse((await cursor.read()) ?? 'null')
    const isFirst = stored?.isFirst ?? true
    const progress = {
      read: async () => (stored?.version === version ? stored.after : null),
      store: (tx: Tx, after: string) => {
        const reached: PlansProgress = { version, after, isFirst: isFirst && after !== END }
        return cursor.store(tx, JSON.stringify(reached))
      },
    }
    const announce = isFirst ? async () => {} : onAccessChange
    await backfill(db, progress, (tx, after) => updateCustomersAfter(tx, after, announce), signal)
  }

  /** Makes `followPlans` compare and announce all users' access again: a clock that was ahead has ended some of it too early. */
  async function compareAgain() {
    const stored: PlansProgress | null = JSON.parse((await cursor.read()) ?? 'null')
    if (stored !== null)
      await db.write((tx) => cursor.store(tx, JSON.stringify({ ...stored, version: '' })))
  }

  async function updateCustomersAfter(tx: Tx, after: string, announce: typeof onAccessChange) {
    const rows = await tx
      .selectDistinct({ customerId: subscriptions.customerId })
      .from(subscriptions)
      .where(sql`${subscriptions.customerId} > ${after}`)
      .orderBy(asc(subscriptions.customerId))
      .limit(CUSTOMERS_PER_CHANGE)
    for (const { customerId } of rows) await updateCustomer(tx, customerId, announce)
    return rows.at(-1)?.customerId ?? undefined
  }

  async function updateCustomer(
    tx: Tx,
    customerId: string,
    announce: typeof onAccessChange,
    known?: string[],
  ) {
    // Most customers have one id, their own.
    const [ids, isOwnUser] = await Promise.all([
      known ??
        findIds(tx)
          .execute({ customerId })
          .then((rows) => rows.map(({ id }) => id)),
      isUserWithin(tx, customerId),
    ])
    const isOnlyId = ids.length === 1 && ids[0] === customerId
    const users = isOnlyId ? (isOwnUser ? ids : []) : await usersAmong(tx, ids)
    if (users.length === 0) return
    const rows = await findPurchases(tx).execute({ customerId })
    const purchases = rows.map(({ state }) => readPurchase(state))
    const holder = await holders.holderAmong(tx, users)
    for (const userId of users) {
      const heldBy = userId === holder ? null : holder
      for (const environment of await listEnvironments(tx, userId, purchases)) {
        const change = await storeIfChanged(tx, userId, environment, purchases, heldBy)
        if (change) await announce(tx, change)
      }
    }
  }

  async function usersAmong(tx: Tx, ids: string[]): Promise<string[]> {
    const [only] = ids
    if (only === undefined) return []
    if (ids.length > 1) return existingUsers(tx, ids)
    return (await isUserWithin(tx, only)) ? [only] : []
  }

  /** Includes the sandbox if the user's last test purchase has moved to another user. */
  async function listEnvironments(
    tx: Tx,
    userId: string,
    purchases: Purchase[],
  ): Promise<Environment[]> {
    const hasSandbox = async () =>
      purchases.some(({ environment }) => environment === 'SANDBOX') ||
      (await findState(tx, { userId, environment: 'sandbox' })) !== undefined
    return showsSandbox && (await hasSandbox()) ? ['production', 'sandbox'] : ['production']
  }

  /** Null if the access has not changed. */
  async function storeIfChanged(
    tx: Tx,
    userId: string,
    environment: Environment,
    all: Purchase[],
    heldBy: string | null,
  ): Promise<AccessChange | null> {
    const catalogue = await listPlans([])
    const at = now().getTime()
    const counted = environmentsFor(userId, environment, accessSettings)
    const isCounted = (purchase: Purchase) => counted.includes(purchase.environment)
    const own = heldBy === null ? all.filter(isCounted) : []
    const purchases = assessWithPlans(own, catalogue, at, accessSettings)
    reportUnmatched(purchases, catalogue)
    const summarize = (list: PurchaseAccess[]) =>
      computeAccessState(list, findGivenPlan(list, catalogue)?.code ?? null)
    const assigned = listUnlocking(purchases, catalogue)
    const current = summarize(assigned)
    const changesAt = findNextChange(purchases, at)
    const { status, plan } =
      environment === 'production' ? toAccessColumns(purchases, catalogue) : NO_ACCESS
    const key = { userId, environment }
    const row = await findState(tx, key)
    if (!row && own.length === 0) return null
    const previous = (row?.state as AccessState | undefined) ?? summarize([])
    const isSame = JSON.stringify(previous) === JSON.stringify(current)
    const hasSameColumns = row !== undefined && row.status === status && row.plan === plan
    const isDueAtSameTime = row?.changesAt?.getTime() === changesAt?.getTime()
    if (isSame && isDueAtSameTime && hasSameColumns) return null
    const changed = { state: current, changesAt }
    if (hasSameColumns) await updateState(tx, key, changed)
    else await storeState(tx, { ...key, ...changed, status, plan })
    if (isSame) return null
    const explain = () =>
      explainAccess({
        environment,
        isUnknown: false,
        heldBy,
        purchases,
        hasOtherPurchases: own.length < all.length,
        findPlanOfPurchase: (purchase) => findPlanOfPurchase(purchase, catalogue) ?? null,
      })
    return { userId, environment, previous, current, explain }
  }
}

function toAccessColumns(purchases: PurchaseAccess[], catalogue: Catalogue) {
  return {
    status: computeAccessStatus(purchases),
    plan: findPaidPlan(purchases, catalogue)?.plan.code ?? null,
  }
}
