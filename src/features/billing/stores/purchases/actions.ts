import { AppError } from '../../../../lib/errors.ts'
import type { Reader } from '../../../../platform/db/db.ts'
import type { BillingDb } from '../../schema.ts'
import type { AppStore, Consumption } from '../apple/app-store.ts'
import type { Overdue } from '../checks/overdue.ts'
import type { Claims } from './claims.ts'
import { keysOf, transactionOf } from './purchase-key.ts'
import type { PurchaseSearch } from './search.ts'

type PurchaseActionsDeps = {
  db: BillingDb
  claims: Claims
  search: PurchaseSearch
  /** The `ids` that belong to users. */
  existingUsers: (from: Reader, ids: string[]) => Promise<string[]>
  /** Both are null without a key for Apple's API. */
  appStore: AppStore | null
  overdue: Overdue | null
}

const NEEDS_KEY =
  'This needs a key for Apple\'s API: "homeport stores check" says which settings are missing.'

/** What operators do with a purchase. Every function throws 404 for an unknown purchase. */
export function createPurchaseActions(deps: PurchaseActionsDeps) {
  const { db, claims, search, existingUsers, appStore, overdue } = deps
  return { ask, give, answerRefund }

  /** Records what the App Store says about a purchase now. Throws 503 without a key. */
  async function ask(id: string) {
    if (overdue === null) throw new AppError('unavailable', NEEDS_KEY)
    const known = (await search.find(id)).map(({ transactionId }) => transactionId)
    for (const key of keysOf(known[0] ?? id)) await overdue.ask(key)
    return search.findOrThrow(id)
  }

  /** Moves the purchase with an original transaction id to a user. Throws 404 for an unknown user too. */
  async function give(transactionId: string, userId: string) {
    const [user] = await existingUsers(db.read, [userId])
    if (user === undefined) throw new AppError('not_found', `There is no user ${userId}.`)
    const count = await db.write(async (tx) => {
      let moved = 0
      for (const key of keysOf(transactionId)) {
        if ((await claims.purchaseOf(tx, key)) === null) continue
        await claims.give(tx, userId, key)
        moved++
      }
      return moved
    })
    if (count === 0) throw new AppError('not_found', `There is no purchase ${transactionId}.`)
  }

  /** Tells Apple how a purchase was used, within 12 hours of a refund request (CONSUMPTION_REQUEST). */
  async function answerRefund(transactionId: string, consumption: Consumption) {
    if (appStore === null) throw new AppError('unavailable', NEEDS_KEY)
    await search.findOrThrow(transactionId)
    for (const key of keysOf(transactionId)) {
      if ((await claims.purchaseOf(db.read, key)) === null) continue
      const { environment } = transactionOf(key)
      await appStore.sendConsumption(transactionId, environment, consumption)
    }
  }
}
