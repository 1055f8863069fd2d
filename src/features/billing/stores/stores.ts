import type { Config } from '../../../config.ts'
import type { Log } from '../../../lib/log.ts'
import type { Reader, Tx } from '../../../platform/db/db.ts'
import type { Billing } from '../inbox/event-inbox.ts'
import type { BillingDb } from '../schema.ts'
import { APPLE_API_URLS, createAppleApi } from './apple/api.ts'
import { createAppStore } from './apple/app-store.ts'
import { APPLE_ROOT } from './apple/certificates.ts'
import { createAppleHistory } from './apple/history.ts'
import { createTokenVerifier } from './apple/token.ts'
import type { StoreChecks } from './checks.ts'
import { createClaims } from './claims.ts'
import { createOverdue } from './overdue.ts'
import { createStatements } from './statements.ts'
import { createSubmissions } from './submissions.ts'

type StoresDeps = {
  db: BillingDb
  config: Config
  checks: StoreChecks
  billing: Pick<Billing, 'recordIn' | 'recordOwnEvent'>
  holderOf: (from: Reader, customerId: string) => Promise<string | null>
  notifyFormerOwner: (tx: Tx, userId: string, productId: string) => Promise<void>
  now: () => Date
  log: Log
}

export type Stores = ReturnType<typeof createStores>

/** The app stores. `appStore`, `history` and `overdue` are null without a key for Apple's API. */
export function createStores(deps: StoresDeps) {
  const { db, config, now, log } = deps
  const { appStoreApps: apps, appStoreIssuerId, appStoreKeyId, appStoreKey } = config
  const verify = createTokenVerifier(config.appStoreRoot ?? APPLE_ROOT)
  const recordStatement = createStatements(deps)
  const claims = createClaims({ ...deps, transfer: config.purchaseTransfer })
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
    ignoresSandbox: config.billingSandbox === 'ignore',
    log,
  })
  return {
    apps,
    verify,
    claims,
    submit,
    appStore,
    history: appStore && createAppleHistory({ ...deps, appStore, apps, verify }),
    overdue: appStore && createOverdue({ ...deps, ...claims, appStore, recordStatement }),
  }

  function urls() {
    const { appStoreApiUrl: url } = config
    return url === null ? APPLE_API_URLS : { PRODUCTION: url, SANDBOX: url }
  }
}
