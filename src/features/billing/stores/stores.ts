import { HOUR_MS } from '../../../lib/durations.ts'
import { AppError } from '../../../lib/errors.ts'
import type { Log } from '../../../lib/log.ts'
import type { StoreSettings } from '../../../lib/store-settings.ts'
import type { Reader, Tx } from '../../../platform/db/db.ts'
import type { Billing } from '../inbox/event-inbox.ts'
import type { BillingDb } from '../schema.ts'
import { APPLE_API_URLS, createAppleApi } from './apple/api.ts'
import { createAppStore } from './apple/app-store.ts'
import { APPLE_ROOT } from './apple/certificates.ts'
import { createAppleHistory } from './apple/history.ts'
import { createTokenVerifier } from './apple/token.ts'
import { createStoreApps } from './checks/apps.ts'
import { createOverdue } from './checks/overdue.ts'
import type { StoreChecks } from './checks/schedule.ts'
import { createStoreStatus } from './checks/status.ts'
import { createAsk } from './purchases/ask.ts'
import { createClaims } from './purchases/claims.ts'
import { createPurchaseSearch } from './purchases/search.ts'
import { createStatements } from './purchases/statements.ts'
import { createSubmissions } from './purchases/submissions.ts'

type StoresDeps = {
  db: BillingDb
  settings: StoreSettings
  ignoresSandbox: boolean
  publicUrl: string | null
  checks: StoreChecks
  billing: Pick<Billing, 'recordIn' | 'recordOwnEvent'>
  holderOf: (from: Reader, customerId: string) => Promise<string | null>
  /** The `ids` that belong to users. */
  existingUsers: (from: Reader, ids: string[]) => Promise<string[]>
  notifyFormerOwner: (tx: Tx, userId: string, productId: string) => Promise<void>
  now: () => Date
  log: Log
}

export type Stores = ReturnType<typeof createStores>

/** The app stores. `appStore`, `history` and `overdue` are null without a key for Apple's API. */
export function createStores(deps: StoresDeps) {
  const { db, settings, ignoresSandbox, publicUrl, now, log } = deps
  const { appStoreApps: apps, appStoreIssuerId, appStoreKeyId, appStoreKey } = settings
  const verify = createTokenVerifier(settings.appStoreRoot ?? APPLE_ROOT)
  const recordStatement = createStatements(deps)
  const claims = createClaims({ ...deps, transfer: settings.purchaseTransfer })
  const key =
    appStoreIssuerId && appStoreKeyId && appStoreKey
      ? { issuerId: appStoreIssuerId, keyId: appStoreKeyId, privateKey: appStoreKey }
      : null
  const appStore =
    key && createAppStore({ api: createAppleApi({ key, urls: urls(), now }), apps, verify })
  const submit = createSubmissions({
    db,
    apps,
    verify,
    appStore,
    claims,
    recordStatement,
    ignoresSandbox,
    log,
  })
  const storeApps = createStoreApps({ db, now })
  const overdue = appStore && createOverdue({ ...deps, ...claims, appStore, recordStatement })
  return {
    apps,
    verify,
    claims,
    submit,
    give,
    storeApps,
    ask: createAsk({ db, appStore, overdue, claims }),
    purchaseSearch: createPurchaseSearch({
      ...deps,
      claims,
      appStore,
      lenienceMs: settings.storeLenienceHours * HOUR_MS,
    }),
    status: createStoreStatus({ apps, storeApps, appStore, publicUrl, now }),
    appStore,
    history: appStore && createAppleHistory({ ...deps, appStore, apps, storeApps, verify }),
    overdue,
  }

  /** Moves the purchase with a transaction id to a user. Throws 404 if there is no such purchase or user. */
  async function give(transactionId: string, userId: string) {
    const [user] = await deps.existingUsers(db.read, [userId])
    if (user === undefined) throw new AppError('not_found', `There is no user ${userId}.`)
    const keys = [`PRODUCTION|${transactionId}`, `SANDBOX|${transactionId}`]
    const given = await db.write(async (tx) => {
      let count = 0
      for (const key of keys) {
        if ((await claims.purchaseOf(tx, key)) === null) continue
        await claims.give(tx, userId, key)
        count++
      }
      return count
    })
    if (given === 0) throw new AppError('not_found', `There is no purchase ${transactionId}.`)
  }

  function urls() {
    const { appStoreApiUrl: url } = settings
    return url === null ? APPLE_API_URLS : { PRODUCTION: url, SANDBOX: url }
  }
}
