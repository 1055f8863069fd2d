import { invalidField } from '../../../lib/errors.ts'
import { DAY_MS } from '../../../lib/time/durations.ts'
import type { PurchaseResult } from '../../models.ts'
import type { Handlers } from '../handler-types.ts'
import { type Purchase, type State, toIso, type User } from '../state.ts'
import type { SubscriptionGrant } from '../types.ts'
import type { Purchases } from './purchases.ts'

/** Purchases in the app stores, which apps submit. */
export function createStores(
  { clock, find, users, recordChange }: State,
  { create, read }: Purchases,
) {
  const issued = new Map<string, Purchase>()
  const handlers = {
    submitPurchases({ purchases, takeOver = false, environment }, { userId }) {
      if (!Array.isArray(purchases) || purchases.length === 0)
        throw invalidField('purchases', 'must have 1 to 20 purchases')
      const results = purchases.map((one) => {
        const token = 'purchaseToken' in one ? one.purchaseToken : one.signedTransaction
        return submit(find(userId), token, takeOver)
      })
      return { results, subscription: read(find(userId), environment) }
    },
  } satisfies Partial<Handlers>
  return { handlers, issuePurchase }

  /** The `signedTransaction` or `purchaseToken` of a purchase for `submitPurchases`. */
  function issuePurchase(wanted: SubscriptionGrant): string {
    const token = `fake-purchase-${issued.size + 1}`
    issued.set(token, create(wanted))
    return token
  }

  function submit(user: User, token: string, takeOver: boolean): PurchaseResult {
    const purchase = issued.get(token)
    if (!purchase) {
      const unknown = { environment: null, transactionId: null, productId: null, expiresAt: null }
      return { outcome: 'refused', code: 'purchase_invalid', ...unknown }
    }
    const { environment, transactionId, details, purchasedAt } = purchase
    const expiresAt = toIso(purchase.expiresAt)
    const result = { environment, transactionId, productId: details.productId, expiresAt }
    const owner = [...users.values()].find(({ purchases }) => purchases.includes(purchase))
    if (owner === user) return { outcome: 'known', ...result }
    if (owner) {
      const from = owner.loginType === 'guest' ? 0 : purchasedAt + DAY_MS
      if (!takeOver || from > clock.now) {
        const canTakeOverAt = toIso(Math.max(from, clock.now))
        return { outcome: 'refused', code: 'purchase_of_another', canTakeOverAt, ...result }
      }
      owner.purchases = owner.purchases.filter((one) => one !== purchase)
      recordChange(owner.id, 'subscription')
    }
    user.purchases.push(purchase)
    recordChange(user.id, 'subscription')
    return { outcome: 'bound', ...result }
  }
}
