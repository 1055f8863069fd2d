import type { StoreSettings } from '../../config/subjects/stores.ts'
import type { StripeSettings } from '../../config/subjects/stripe.ts'
import type { Log } from '../../lib/log/log.ts'
import type { Reader, Tx } from '../../platform/db/db.ts'
import type { Limits } from '../../platform/limits/limits.ts'
import type { ExistingUsers } from '../../platform/user-table.ts'
import { findPlanTitle } from '../billing/access/access-explanation.ts'
import type { AccessSettings } from '../billing/access/assessment.ts'
import type { BillingEvent } from '../billing/inbox/event.ts'
import type { EventInbox } from '../billing/inbox/event-inbox.ts'
import type { EventLog } from '../billing/inbox/event-log.ts'
import type { Transactions } from '../billing/inbox/transactions.ts'
import { APPLE_API_URLS, createAppleApi } from './apple/api.ts'
import { createAppStore } from './apple/app-store.ts'
import { APPLE_ROOT } from './apple/certificates.ts'
import { createAppleHistory } from './apple/history.ts'
import { createTokenVerifier } from './apple/token.ts'
import { createStoreApps } from './checks/apps.ts'
import { createStoreHealth } from './checks/health.ts'
import { createOverdue } from './checks/overdue.ts'
import { createStoreChecks } from './checks/schedule.ts'
import { createStoreStatus } from './checks/status.ts'
import { createPlay } from './google/play.ts'
import { createPendingClaims } from './google/refresh/pending-claims.ts'
import { createPlayStatus } from './google/status.ts'
import { createClaims } from './purchases/claims.ts'
import { readLastPayments } from './purchases/last-payments.ts'
import { createPurchaseActions } from './purchases/links.ts'
import { createPurchaseSearch, type FoundPurchase } from './purchases/search.ts'
import { createStoreSnapshots } from './purchases/snapshots.ts'
import { createSubmissions } from './purchases/submissions.ts'
import type { StoresDb } from './schema.ts'
import { createStripeUserData } from './stripe/checkout/user-data.ts'
import type { StripeContext } from './stripe/context.ts'
import { createStripeObjects } from './stripe/refresh/objects.ts'
import { createStripe } from './stripe/stripe.ts'

export type StoresNeeds = Pick<StripeContext, 'findEmail' | 'listPlans'> & {
  existingUsers: ExistingUsers
  /** Sends an e-mail. */
  notifyFormerOwner: (tx: Tx, userId: string, productId: string) => Promise<void>
  isGuest: (from: Reader, userId: string) => Promise<boolean>
  /** The user, as the console shows it; null for none. */
  findUser: (userId: string) => Promise<unknown>
  requestsPerSecond?: number | undefined
}

type StoresDeps = StoresNeeds & {
  db: StoresDb
  settings: StoreSettings & StripeSettings
  readSubscription: StripeContext['readSubscription']
  serverId: string
  ignoresSandbox: boolean
  publicUrl: string | null
  eventLog: Pick<EventLog, 'readEvent'>
  transactions: Pick<Transactions, 'listPossibleKeys'>
  eventInbox: Pick<EventInbox, 'recordOnce' | 'recordOwnEvent'>
  findCustomerUser: (from: Reader, customerId: string) => Promise<string | null>
  accessSettings: AccessSettings
  /** Encrypts purchase tokens. */
  sealKey: Uint8Array
  limits: Limits
  now: () => Date
  newId: () => string
  log: Log
}

export type Stores = ReturnType<typeof createStores>

/** `history` and `overdue` are null if there is no key for Apple's API. */
export function createStores(deps: StoresDeps) {
  const { db, settings, ignoresSandbox, publicUrl, listPlans, findUser, limits, now, log } = deps
  const { appStoreApps: apps, appStoreIssuerId, appStoreKeyId, appStoreKey } = settings
  const verify = createTokenVerifier(settings.appStoreRoot ?? APPLE_ROOT)
  const checks = createStoreChecks(deps)
  const snapshots = createStoreSnapshots(deps)
  const claims = createClaims({ ...deps, checks, transfer: settings.purchaseTransfer })
  const key =
    appStoreIssuerId && appStoreKeyId && appStoreKey
      ? { issuerId: appStoreIssuerId, keyId: appStoreKeyId, privateKey: appStoreKey }
      : null
  const appStore =
    key && createAppStore({ api: createAppleApi({ key, urls: urls(), now }), apps, verify })
  const storeApps = createStoreApps({ db, now })
  const pendingClaims = createPendingClaims({ db, claims, now })
  const play = createPlay({ ...deps, storeApps, claims, pendingClaims, snapshots })
  const objects = createStripeObjects(deps)
  const stripe = createStripe({ ...deps, objects, storeApps, claims, snapshots })
  const onDeletion = settings.stripeOnUserDeletion
  const submit = createSubmissions({
    db,
    apps,
    verify,
    appStore,
    submitPlayPurchase: play?.submit ?? null,
    submitSession: stripe?.submit ?? null,
    claims,
    recordSnapshot: snapshots.record,
    ignoresSandbox,
    limits,
    log,
  })
  const playStatus = createPlayStatus({ play, storeApps, publicUrl, now })
  const overdue =
    appStore && createOverdue({ ...deps, ...claims, appStore, recordSnapshot: snapshots.record })
  const purchaseSearch = createPurchaseSearch({
    ...deps,
    claims,
    appStore,
    play,
    stripe,
  })
  return {
    scheduleCheck,
    withOwners,
    apps,
    verify,
    claims,
    submit,
    storeApps,
    play,
    stripe,
    stripeUserData: createStripeUserData({ db, objects, onDeletion }),
    pendingClaims,
    overdue,
    purchaseSearch,
    actions: createPurchaseActions({
      ...deps,
      claims,
      search: purchaseSearch,
      appStore,
      overdue,
      play,
      stripe,
    }),
    health: createStoreHealth({ ...deps, checks, apps, storeApps, appStore, play }),
    status: createStoreStatus({
      apps,
      storeApps,
      appStore,
      publicUrl,
      playStatus,
      stripeStatus: stripe?.status ?? null,
      now,
    }),
    history: appStore && createAppleHistory({ ...deps, appStore, apps, storeApps, verify }),
  }

  /** Schedules a check for the end of the period, in case the notification about it is lost. */
  async function scheduleCheck(tx: Tx, provider: string, event: BillingEvent) {
    if (provider === 'app_store' && event.stated !== null) await checks.schedule(tx, event)
  }

  /** Adds the details that the console shows. */
  async function withOwners(purchases: FoundPurchase[]) {
    const catalogue = await listPlans([])
    const payments = await readLastPayments(db, purchases)
    return Promise.all(
      purchases.map(async (purchase) => ({
        ...purchase,
        lastPayment: payments.get(purchase.purchaseKey) ?? null,
        plan: findPlanTitle(purchase.state, catalogue),
        owner: purchase.userId === null ? null : await findUser(purchase.userId),
      })),
    )
  }

  function urls() {
    const { appStoreApiUrl: url } = settings
    return url === null ? APPLE_API_URLS : { PRODUCTION: url, SANDBOX: url }
  }
}
