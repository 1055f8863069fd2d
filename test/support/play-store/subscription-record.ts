import {
  type CanceledStateContext,
  DAY,
  PACKAGE_NAME,
  type PreviousPurchase,
  type StateContexts,
  type Submission,
  type SubscriptionPurchaseV2,
  timestamp,
} from './formats.ts'
import { createLineItem, endItem, grantItem, setAutoRenew } from './line-items.ts'
import { type Notices, type Order, SUBSCRIPTION_TYPE } from './notices.ts'

const PERIOD = 30 * DAY
/** Google refunds a purchase that is not acknowledged within this time. */
export const ACKNOWLEDGEMENT_MS = { production: 3 * DAY, test: 5 * 60 * 1000 }

type State =
  | 'PENDING'
  | 'ACTIVE'
  | 'PAUSED'
  | 'IN_GRACE_PERIOD'
  | 'ON_HOLD'
  | 'CANCELED'
  | 'EXPIRED'
  | 'PENDING_PURCHASE_CANCELED'

export type SubscriptionOptions = {
  product?: string
  /** Null for a product from before base plans. */
  basePlan?: string | null
  /** The obfuscated account id. */
  userId?: string | null
  periodMs?: number
  trialDays?: number
  /** Bought by a license tester. */
  isTest?: boolean
  isPrepaid?: boolean
  /** Paid later, for example in cash. */
  isPending?: boolean
  subscribeWithGoogle?: { name: string; email: string }
}

export type SubscriptionDeps = {
  token: string
  /** The order id of the first period. */
  orderId: string
  now: () => number
  notices: Notices
}

/** Google's record of one purchase token of a subscription. */
export function createSubscriptionRecord(
  { token, orderId, now, notices }: SubscriptionDeps,
  options: SubscriptionOptions,
  previous: PreviousPurchase,
) {
  const { product = 'pro_month', basePlan = 'monthly', userId = null, trialDays } = options
  const { periodMs = PERIOD, isTest = false, isPrepaid = false, subscribeWithGoogle } = options
  const plan = { basePlan, isPrepaid, isTrial: trialDays !== undefined }
  const purchase: SubscriptionPurchaseV2 = {
    kind: 'androidpublisher#subscriptionPurchaseV2',
    regionCode: 'US',
    subscriptionState: 'SUBSCRIPTION_STATE_PENDING',
    acknowledgementState: 'ACKNOWLEDGEMENT_STATE_PENDING',
    ...previous,
    ...(isTest ? { testPurchase: {} } : {}),
    lineItems: [createLineItem(product, plan)],
  }
  if (userId !== null) setAccount(userId)
  if (subscribeWithGoogle) {
    const { name, email } = subscribeWithGoogle
    purchase.subscribeWithGoogleInfo = { profileName: name, emailAddress: email }
  }
  const orders: Order[] = []
  const changes: string[] = []
  /** The end of the paid period (ms), without a grace period. */
  let periodEnd = 0
  return {
    token,
    options,
    purchase,
    orders,
    changes,
    now,
    start,
    startPeriod,
    nextOrderId,
    periodEnd: () => periodEnd,
    setPeriodEnd,
    setAccount,
    enter,
    end,
    state,
    expectState,
    notify,
    voidOrder,
    answer,
    submission,
    goneAt,
  }

  function start() {
    purchase.startTime = timestamp(now())
    startPeriod(now(), trialDays === undefined ? periodMs : trialDays * DAY)
    return notify('PURCHASED')
  }

  function startPeriod(at: number, length = periodMs) {
    const id = nextOrderId()
    orders.push({ id, at: now() })
    periodEnd = at + length
    for (const item of purchase.lineItems) grantItem(item, id, at, periodEnd)
    enter('ACTIVE')
  }

  /** Renewals append `..0`, `..1` and so on to the id of the first order. */
  function nextOrderId() {
    return orders.length === 0 ? orderId : `${orderId}..${orders.length - 1}`
  }

  function setPeriodEnd(at: number) {
    periodEnd = at
  }

  function setAccount(id: string) {
    purchase.externalAccountIdentifiers = { obfuscatedExternalAccountId: id }
  }

  function enter(next: State, contexts: StateContexts = {}) {
    delete purchase.pausedStateContext
    delete purchase.onHoldStateContext
    delete purchase.inGracePeriodStateContext
    delete purchase.canceledStateContext
    Object.assign(purchase, { subscriptionState: `SUBSCRIPTION_STATE_${next}` }, contexts)
    const willRenew = next !== 'CANCELED' && next !== 'EXPIRED'
    for (const item of purchase.lineItems) setAutoRenew(item, willRenew)
  }

  /** A prepaid plan that runs out has no context. */
  function end(at: number, canceledStateContext: CanceledStateContext | null) {
    enter('EXPIRED', canceledStateContext === null ? {} : { canceledStateContext })
    for (const item of purchase.lineItems) endItem(item, at)
  }

  function state() {
    return purchase.subscriptionState.replace('SUBSCRIPTION_STATE_', '') as State
  }

  /** Throws if the change is impossible in the current state. */
  function expectState(...allowed: State[]): State {
    const current = state()
    if (!allowed.includes(current)) throw new Error(`the subscription is ${current}`)
    return current
  }

  function notify(type: keyof typeof SUBSCRIPTION_TYPE, at = now()) {
    changes.push(`${timestamp(at)} ${type}`)
    return notices.ofSubscription(SUBSCRIPTION_TYPE[type], token, at)
  }

  function voidOrder(order: Order | undefined, at: number, reason: number) {
    if (!order) throw new Error('there is no such order')
    changes.push(`${timestamp(at)} VOIDED ${order.id}`)
    return notices.voidOrder({ token, order, isSubscription: true, at, reason })
  }

  /** A fresh copy of the purchase; the etag changes with it. */
  function answer(): SubscriptionPurchaseV2 {
    return { ...structuredClone(purchase), etag: `"${Bun.hash(JSON.stringify(purchase))}"` }
  }

  function submission(): Submission {
    const productId = purchase.lineItems[0]?.productId ?? product
    const kind = 'subscription'
    return { store: 'play_store', packageName: PACKAGE_NAME, purchaseToken: token, productId, kind }
  }

  /** When Google forgets the token (ms): 60 days after the end. */
  function goneAt() {
    if (state() !== 'EXPIRED') return Number.POSITIVE_INFINITY
    const ends = purchase.lineItems.flatMap(({ expiryTime }) => expiryTime ?? [])
    return Math.max(...ends.map(Date.parse)) + 60 * DAY
  }
}
