import { type DeveloperNotification, PACKAGE_NAME, type VoidedEntry } from './formats.ts'

export type Order = { id: string; at: number }
export type Notices = ReturnType<typeof createNotices>

type Refund = {
  token: string
  order: Order
  isSubscription: boolean
  at: number
  /** `voidedReason`: 0 other, 1 remorse, 7 chargeback, 8 unacknowledged. */
  reason: number
  /** The number of refunded units, if not all are refunded. */
  quantity?: number
}

/** `notificationType` of a `subscriptionNotification`. */
export const SUBSCRIPTION_TYPE = {
  RECOVERED: 1,
  RENEWED: 2,
  CANCELED: 3,
  PURCHASED: 4,
  ON_HOLD: 5,
  IN_GRACE_PERIOD: 6,
  RESTARTED: 7,
  DEFERRED: 9,
  PAUSED: 10,
  PAUSE_SCHEDULE_CHANGED: 11,
  REVOKED: 12,
  EXPIRED: 13,
  ITEMS_CHANGED: 17,
  PENDING_PURCHASE_CANCELED: 20,
}

/** `voidedReason` of a purchase that was not acknowledged in time. */
export const UNACKNOWLEDGED = 8
/** `voidedSource`. */
const SOURCE = { user: 0, google: 2 }

/** Creates developer notifications; `voidOrder` also adds the order to the list of voided purchases. */
export function createNotices(voided: VoidedEntry[]) {
  return { ofSubscription, ofProduct, voidOrder }

  function ofSubscription(type: number, token: string, at: number): DeveloperNotification {
    const subscriptionNotification = {
      version: '1.0',
      notificationType: type,
      purchaseToken: token,
    }
    return { ...common(at), subscriptionNotification }
  }

  function ofProduct(type: number, token: string, sku: string, at: number): DeveloperNotification {
    const oneTimeProductNotification = {
      version: '1.0',
      notificationType: type,
      purchaseToken: token,
      sku,
    }
    return { ...common(at), oneTimeProductNotification }
  }

  function voidOrder(refund: Refund): DeveloperNotification {
    const { token, order, isSubscription, at, reason, quantity } = refund
    voided.push({
      seenAt: at,
      isSubscription,
      voided: {
        kind: 'androidpublisher#voidedPurchase',
        purchaseToken: token,
        orderId: order.id,
        purchaseTimeMillis: String(order.at),
        voidedTimeMillis: String(at),
        voidedSource: reason === UNACKNOWLEDGED ? SOURCE.google : SOURCE.user,
        voidedReason: reason,
        ...(quantity === undefined ? {} : { voidedQuantity: quantity }),
      },
    })
    const voidedPurchaseNotification = {
      purchaseToken: token,
      orderId: order.id,
      productType: isSubscription ? 1 : 2,
      refundType: quantity === undefined ? 1 : 2,
    }
    return { ...common(at), voidedPurchaseNotification }
  }

  function common(at: number) {
    return { version: '1.0', packageName: PACKAGE_NAME, eventTimeMillis: String(at) }
  }
}
