import type { StoreSettings } from '../../config/stores.ts'
import type { Log } from '../../lib/log/log.ts'
import type { Reader, Tx } from '../../platform/db/db.ts'
import type { Limits } from '../../platform/limits/limits.ts'
import type { ExistingUsers } from '../../platform/user-table.ts'
import type { AccessSettings } from '../billing/access/assessment.ts'
import type { Catalogue } from '../billing/access/plan-matching.ts'
import type { PlanLike } from '../billing/access/subscription.ts'
import type { EventInbox } from '../billing/inbox/event-inbox.ts'
import type { Transactions } from '../billing/inbox/transactions.ts'
import type { BillingDb } from '../billing/schema.ts'
import { APPLE_API_URLS, createAppleApi } from './apple/api.ts'
import { createAppStore } from './apple/app-store.ts'
import { APPLE_ROOT } from './apple/certificates.ts'
import { createAppleHistory } from './apple/history.ts'
import { createTokenVerifier } from './apple/token.ts'
import { createStoreApps } from './checks/apps.ts'
import { createStoreHealth } from './checks/health.ts'
import { createOverdue } from './checks/overdue.ts'
import type { StoreChecks } from './checks/schedule.ts'
import { createStoreStatus } from './checks/status.ts'
import { createPlay } from './google/play.ts'
import { createPendingClaims } from './google/refresh/pending-claims.ts'
import { createPlayStatus } from './google/status.ts'
import { createClaims } from './purchases/claims.ts'
import { createPurchaseActions } from './purchases/links.ts'
import { createPurchaseSearch } from './purchases/search.ts'
import { createStatements } from './purchases/snapshots.ts'
import { createSubmissions } from './purchases/submissions.ts'

type StoresDeps = {
  db: BillingDb
  settings: StoreSettings
  ignoresSandbox: boolean
  publicUrl: string | null
  checks: StoreChecks
  transactions: Pick<Transactions, 'possibleKeysOf'>
  eventInbox: Pick<EventInbox, 'recordIn' | 'recordOwnEvent'>
  holderOf: (from: Reader, customerId: string) => Promise<string | null>
  existingUsers: ExistingUsers
  notifyFormerOwner: (tx: Tx, userId: string, productId: string) => Promise<void>
  isGuest: (tx: Tx, userId: string) => Promise<boolean>
  listPlans: (wanted: string[]) => Promise<Catalogue<PlanLike>>
  accessSettings: AccessSettings
  /** Encrypts purchase tokens. */
  sealKey: Uint8Array
  asksPerSecond?: number | undefined
  limits: Limits
  now: () => Date
  newId: () => string
  log: Log
}

export type Stores = ReturnType<typeof createStores>

/** The app stores. `history` and `overdue` are null without a key for Apple's API. */
export function createStores(deps: StoresDeps) {
  const { db, settings, ignoresSandbox, publicUrl, limits, now, log } = deps
  const { appStoreApps: apps, appStoreIssuerId, appStoreKeyId, appStoreKey } = settings
  const verify = createTokenVerifier(settings.appStoreRoot ?? APPLE_ROOT)
  const statements = createStatements(deps)
  const claims = createClaims({ ...deps, transfer: settings.purchaseTransfer })
  const key =
    appStoreIssuerId && appStoreKeyId && appStoreKey
      ? { issuerId: appStoreIssuerId, keyId: appStoreKeyId, privateKey: appStoreKey }
      : null
  const appStore =
    key && createAppStore({ api: createAppleApi({ key, urls: urls(), now }), apps, verify })
  const storeApps = createStoreApps({ db, now })
  const pendingClaims = createPendingClaims({ db, claims, now })
  const play = createPlay({ ...deps, storeApps, claims, pendingClaims, statements })
  const submit = createSubmissions({
    db,
    apps,
    verify,
    appStore,
    submitPlayPurchase: play?.submit ?? null,
    claims,
    recordStatement: statements.record,
    ignoresSandbox,
    limits,
    log,
  })
  const playStatus = createPlayStatus({ play, storeApps, publicUrl, now })
  const overdue =
    appStore && createOverdue({ ...deps, ...claims, appStore, recordStatement: statements.record })
  const purchaseSearch = createPurchaseSearch({
    ...deps,
    claims,
    appStore,
    play,
  })
  return {
    apps,
    verify,
    claims,
    submit,
    storeApps,
    play,
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
    }),
    health: createStoreHealth({ ...deps, apps, storeApps, appStore, play }),
    status: createStoreStatus({ apps, storeApps, appStore, publicUrl, playStatus, now }),
    history: appStore && createAppleHistory({ ...deps, appStore, apps, storeApps, verify }),
  }

  function urls() {
    const { appStoreApiUrl: url } = settings
    return url === null ? APPLE_API_URLS : { PRODUCTION: url, SANDBOX: url }
  }
}
