import {
  PACKAGE_NAME,
  type ProductPurchase,
  type ProductPurchaseV2,
  type Submission,
  timestamp,
} from './formats.ts'
import { type Notices, UNACKNOWLEDGED } from './notices.ts'
import { ACKNOWLEDGEMENT_MS } from './subscription-record.ts'

/** `notificationType` of a `oneTimeProductNotification`. */
const TYPE = { PURCHASED: 1, CANCELED: 2 }
/** `purchaseState` of the older format. */
const OLDER_STATE = { PURCHASED: 0, CANCELLED: 1, PENDING: 2 }

export type ProductOptions = {
  product?: string
  /** The obfuscated account id. */
  userId?: string | null
  /** Bought by a license tester. */
  isTest?: boolean
  quantity?: number
  /** Paid later, for example in cash. */
  isPending?: boolean
}

type ProductDeps = { token: string; orderId: string; now: () => number; notices: Notices }

export type FakeProduct = ReturnType<typeof createProduct>

/** A one-time product in the fake Play Store. Each change returns the notification about it. */
export function createProduct(
  { token, orderId, now, notices }: ProductDeps,
  options: ProductOptions,
) {
  const { product = 'coins', userId = null, isTest = false, quantity = 1 } = options
  const { isPending = false } = options
  const startedAt = now()
  const changes: string[] = []
  let state: keyof typeof OLDER_STATE = 'PENDING'
  let paidAt: number | null = null
  let refundableQuantity = quantity
  let isAcknowledged = false
  let isConsumed = false
  return {
    kind: 'one_time' as const,
    token,
    product,
    /** The changes so far, as notification types with their times. */
    changes,
    /** Reports the purchase; null while it is pending. */
    notification: isPending ? null : pay(),
    answer,
    olderAnswer,
    submission,
    goneAt: () => Number.POSITIVE_INFINITY,
    acknowledge,
    consume,
    refundIfUnacknowledged,
    pay,
    giveUp,
    refund,
    refundPart,
  }

  function pay() {
    expectState('PENDING')
    state = 'PURCHASED'
    paidAt = now()
    return notify('PURCHASED')
  }

  function giveUp() {
    expectState('PENDING')
    state = 'CANCELLED'
    return notify('CANCELED')
  }

  function refund(reason = 1) {
    return refundAt(now(), reason)
  }

  function refundAt(at: number, reason: number) {
    expectState('PURCHASED')
    state = 'CANCELLED'
    refundableQuantity = 0
    return voidOrder(at, reason)
  }

  /** Refunds some units of a purchase with several units. */
  function refundPart(units = 1, reason = 1) {
    expectState('PURCHASED')
    if (units >= refundableQuantity) throw new Error('some units must stay')
    refundableQuantity -= units
    return voidOrder(now(), reason, units)
  }

  function voidOrder(at: number, reason: number, units?: number) {
    changes.push(`${timestamp(at)} VOIDED ${orderId}`)
    const order = { id: orderId, at: paidAt ?? startedAt }
    const part = units === undefined ? {} : { quantity: units }
    return notices.voidOrder({ token, order, isSubscription: false, at, reason, ...part })
  }

  /** Returns false if there is nothing to acknowledge, because the purchase is unpaid or refunded. */
  function acknowledge(): boolean {
    if (state !== 'PURCHASED') return false
    isAcknowledged = true
    return true
  }

  /** Consuming acknowledges too. */
  function consume(): boolean {
    if (!acknowledge()) return false
    isConsumed = true
    return true
  }

  /** Refunds the purchase if it was not acknowledged in time. */
  function refundIfUnacknowledged() {
    if (state !== 'PURCHASED' || isAcknowledged || paidAt === null) return []
    const deadline = paidAt + ACKNOWLEDGEMENT_MS[isTest ? 'test' : 'production']
    return now() < deadline ? [] : [refundAt(deadline, UNACKNOWLEDGED)]
  }

  function notify(type: keyof typeof TYPE) {
    changes.push(`${timestamp(now())} ${type}`)
    return notices.ofProduct(TYPE[type], token, product, now())
  }

  function expectState(expected: keyof typeof OLDER_STATE) {
    if (state !== expected) throw new Error(`the purchase is ${state}`)
  }

  function answer(): ProductPurchaseV2 {
    return {
      kind: 'androidpublisher#productPurchaseV2',
      regionCode: 'US',
      productLineItem: [
        {
          productId: product,
          productOfferDetails: {
            purchaseOptionId: 'buy',
            quantity,
            refundableQuantity,
            consumptionState: `CONSUMPTION_STATE_${isConsumed ? 'CONSUMED' : 'YET_TO_BE_CONSUMED'}`,
          },
        },
      ],
      purchaseStateContext: { purchaseState: state },
      ...(paidAt === null ? {} : { purchaseCompletionTime: timestamp(paidAt), orderId }),
      acknowledgementState: `ACKNOWLEDGEMENT_STATE_${isAcknowledged ? 'ACKNOWLEDGED' : 'PENDING'}`,
      ...(userId === null ? {} : { obfuscatedExternalAccountId: userId }),
      ...(isTest ? { testPurchaseContext: { fopType: 'TEST' } } : {}),
    }
  }

  function olderAnswer(): ProductPurchase {
    return {
      kind: 'androidpublisher#productPurchase',
      regionCode: 'US',
      purchaseState: OLDER_STATE[state],
      consumptionState: isConsumed ? 1 : 0,
      acknowledgementState: isAcknowledged ? 1 : 0,
      purchaseTimeMillis: String(paidAt ?? startedAt),
      ...(paidAt === null ? {} : { orderId }),
      ...(isTest ? { purchaseType: 0 } : {}),
      ...(quantity === 1 ? {} : { quantity }),
      ...(userId === null ? {} : { obfuscatedExternalAccountId: userId }),
    }
  }

  function submission(): Submission {
    const kind = 'one_time'
    const where = { store: 'play_store', packageName: PACKAGE_NAME } as const
    return { ...where, purchaseToken: token, productId: product, kind }
  }
}
