import { AppError } from '../../../../lib/errors.ts'
import type { Reader } from '../../../../platform/db/db.ts'
import type { BillingDb } from '../../schema.ts'
import { AppleApiError } from '../apple/api-error.ts'
import type { AppStore } from '../apple/app-store.ts'

type AskDeps = {
  db: BillingDb
  /** Null without a key for Apple's API, as is `overdue`. */
  appStore: Pick<AppStore, 'findTransactions'> | null
  overdue: { ask: (purchaseKey: string) => Promise<boolean> } | null
  claims: { purchaseOf: (from: Reader, purchaseKey: string) => Promise<unknown> }
}

const NEEDS_KEY =
  'Set APP_STORE_ISSUER_ID, APP_STORE_KEY_ID and APP_STORE_KEY_FILE to ask the App Store.'

/** Records what the App Store says now about the purchase with a transaction id or an order number. Throws 503 if it does not answer. */
export function createAsk({ db, appStore, overdue, claims }: AskDeps) {
  return async (id: string) => {
    if (appStore === null || overdue === null) throw new AppError('unavailable', NEEDS_KEY)
    try {
      const transactionIds = /^\d+$/.test(id) ? [id] : await appStore.findTransactions(id)
      for (const one of transactionIds) await askAbout(one, overdue)
    } catch (error) {
      if (!(error instanceof AppleApiError)) throw error
      throw new AppError('unavailable', error.message)
    }
  }

  /** Asks in both environments about a purchase that is not known: Apple refuses production until the app is released. */
  async function askAbout(transactionId: string, { ask }: NonNullable<AskDeps['overdue']>) {
    const keys = [`PRODUCTION|${transactionId}`, `SANDBOX|${transactionId}`]
    const known: string[] = []
    for (const key of keys) {
      if ((await claims.purchaseOf(db.read, key)) !== null) known.push(key)
    }
    let failure: unknown = null
    for (const key of known.length > 0 ? known : keys) {
      try {
        if (await ask(key)) return
      } catch (error) {
        failure ??= error
      }
    }
    if (failure !== null) throw failure
  }
}
