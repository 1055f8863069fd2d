import { AppError, invalidField } from '../../../lib/errors.ts'
import { DAY_MS, HOUR_MS } from '../../../lib/time/durations.ts'
import type { PricingPlan, PurchaseResult, SubmittedPurchase } from '../../models.ts'
import type { Handlers } from '../handler-types.ts'
import { type Purchase, type State, toIso, type User } from '../state.ts'
import type { SubscriptionGrant } from '../types.ts'
import type { Purchases } from './purchases.ts'

/** Handles the purchases that apps submit, from the app stores and by card. */
export function createStores(
  { clock, find, users, recordChange, url }: State,
  { create, read }: Purchases,
  readPlans: () => PricingPlan[],
) {
  const issued = new Map<string, Purchase>()
  const handlers = {
    submitPurchases({ purchases, takeOver = false, environment }, { userId }) {
      if (!Array.isArray(purchases) || purchases.length === 0)
        throw invalidField('purchases', 'must have 1 to 20 purchases')
      const results = purchases.map((purchase) => {
        return submit(find(userId), toToken(purchase), takeOver)
      })
      return { results, subscription: read(find(userId), environment) }
    },
    startCheckout({ plan: code }) {
      const plan = readPlans().find((offer) => offer.code === code)
      if (!plan?.source.includes('stripe'))
        throw new AppError('not_for_sale', 'This plan is not sold by card now.')
      const [entitlement = code] = plan.entitlementIds ?? []
      const sessionId = `cs_test_fake${issued.size + 1}`
      issued.set(sessionId, create({ entitlement, store: 'STRIPE' }))
      const expiresAt = new Date(clock.now + HOUR_MS).toISOString()
      return {
        url: `${url}/pay/${sessionId}`,
        sessionId,
        expiresAt,
        trialDays: 0,
        overlapUntil: null,
      }
    },
    createPortalLink: () => ({ url: `${url}/portal` }),
  } satisfies Partial<Handlers>
  return { handlers, issuePurchase }

  /** Creates a purchase, and returns its `signedTransaction` or `purchaseToken` for `submitPurchases`. */
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
      owner.purchases = owner.purchases.filter((other) => other !== purchase)
      recordChange(owner.id, 'subscription')
    }
    user.purchases.push(purchase)
    recordChange(user.id, 'subscription')
    return { outcome: 'bound', ...result }
  }
}

function toToken(purchase: SubmittedPurchase): string {
  if ('purchaseToken' in purchase) return purchase.purchaseToken
  return 'sessionId' in purchase ? purchase.sessionId : purchase.signedTransaction
}
