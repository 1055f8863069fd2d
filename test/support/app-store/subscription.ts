import type { AppleSigner } from './apple-signer.ts'

export const FAKE_APP = { bundleId: 'com.example.app', appleId: 1_234_567_890 }

const DAY = 24 * 60 * 60 * 1000
const PERIOD = 30 * DAY
/** `status` of a subscription in notifications. */
export const STATUS = { active: 1, expired: 2, inRetry: 3, inGrace: 4, revoked: 5 }

/** Fields of a transaction that the next period does not have. */
const PERIOD_FIELDS = [
  'offerType',
  'offerDiscountType',
  'revocationDate',
  'revocationReason',
  'revocationType',
]

export type PurchaseOptions = {
  environment?: 'Production' | 'Sandbox'
  product?: string
  userId?: string | null
  trialDays?: number
  /** In the sandbox, a month takes five minutes. */
  periodMs?: number
}

type SubscriptionDeps = {
  id: number
  signer: AppleSigner
  now: () => number
  notification: (type: string, subtype: string | undefined, rest: object) => SignedNotification
}

/** A signed notification: its claims, and the body that delivers it. */
export type SignedNotification = {
  claims: { notificationUUID: string; signedDate: number }
  body: { signedPayload: string }
}

/** A subscription in the fake App Store. Each change returns the signed notification about it. */
export function createSubscription(
  { id, signer, now, notification }: SubscriptionDeps,
  options: PurchaseOptions,
) {
  const { environment = 'Production', product = 'pro_month', userId = null, trialDays } = options
  const { periodMs = PERIOD } = options
  const { bundleId, appleId } = FAKE_APP
  const originalTransactionId = String(id)
  const boughtAt = now()
  const transaction: Record<string, unknown> = {
    originalTransactionId,
    transactionId: originalTransactionId,
    bundleId,
    environment,
    type: 'Auto-Renewable Subscription',
    inAppOwnershipType: 'PURCHASED',
    productId: product,
    originalPurchaseDate: boughtAt,
    purchaseDate: boughtAt,
    expiresDate: boughtAt + (trialDays === undefined ? periodMs : trialDays * DAY),
    ...(trialDays === undefined ? {} : { offerType: 1, offerDiscountType: 'FREE_TRIAL' }),
    price: 9990,
    currency: 'USD',
    ...(userId === null ? {} : { appAccountToken: userId }),
  }
  const renewal: Record<string, unknown> = {
    originalTransactionId,
    environment,
    productId: product,
    autoRenewProductId: product,
    autoRenewStatus: 1,
  }
  const changes: string[] = []
  let status = STATUS.active
  let period = 1
  let earlier: Record<string, unknown> | null = null
  return {
    originalTransactionId,
    environment,
    /** The changes so far, as notification types with their times. */
    changes,
    notification: signNotification('SUBSCRIBED', 'INITIAL_BUY'),
    transaction,
    renewal,
    status: () => status,
    renew,
    resubscribe,
    setAutoRenew,
    failToRenew,
    endGrace,
    expire,
    refund,
    refundEarlier,
    reverseRefund,
    revoke,
    changeProduct,
    extend,
    signNotification,
    signedTransaction,
    signedRenewal,
  }

  /** Starts the next period when the last one ends, or now after a failed payment. */
  function renew(subtype?: string) {
    const isLate = subtype === 'BILLING_RECOVERY'
    startPeriod(isLate ? now() : Number(transaction['expiresDate']))
    return signNotification('DID_RENEW', subtype)
  }

  function resubscribe(product = transaction['productId']) {
    startPeriod(now(), product)
    return signNotification('SUBSCRIBED', 'RESUBSCRIBE')
  }

  function startPeriod(at: number, product = renewal['autoRenewProductId']) {
    earlier = { ...transaction }
    transaction['transactionId'] = `${originalTransactionId}${++period}`
    Object.assign(transaction, { productId: product, purchaseDate: at, expiresDate: at + periodMs })
    for (const name of PERIOD_FIELDS) delete transaction[name]
    Object.assign(renewal, {
      productId: product,
      autoRenewProductId: product,
      autoRenewStatus: 1,
    })
    endBillingIssue()
    delete renewal['expirationIntent']
    status = STATUS.active
  }

  function endBillingIssue() {
    delete renewal['isInBillingRetryPeriod']
    delete renewal['gracePeriodExpiresDate']
  }

  function setAutoRenew(isOn: boolean) {
    renewal['autoRenewStatus'] = isOn ? 1 : 0
    return signNotification(
      'DID_CHANGE_RENEWAL_STATUS',
      `AUTO_RENEW_${isOn ? 'ENABLED' : 'DISABLED'}`,
    )
  }

  function failToRenew(graceDays = 0) {
    renewal['isInBillingRetryPeriod'] = graceDays === 0
    status = graceDays === 0 ? STATUS.inRetry : STATUS.inGrace
    if (graceDays === 0) return signNotification('DID_FAIL_TO_RENEW')
    renewal['gracePeriodExpiresDate'] =
      Number(transaction['expiresDate']) + Math.round(graceDays * DAY)
    return signNotification('DID_FAIL_TO_RENEW', 'GRACE_PERIOD')
  }

  function endGrace() {
    status = STATUS.inRetry
    renewal['isInBillingRetryPeriod'] = true
    return signNotification('GRACE_PERIOD_EXPIRED')
  }

  function expire(subtype = 'VOLUNTARY') {
    status = STATUS.expired
    renewal['autoRenewStatus'] = 0
    renewal['expirationIntent'] = subtype === 'BILLING_RETRY' ? 2 : 1
    endBillingIssue()
    return signNotification('EXPIRED', subtype)
  }

  /** `percent` of the price, if not all. */
  function refund(percent?: number) {
    Object.assign(transaction, { revocationDate: now(), revocationReason: 0 })
    if (percent !== undefined) {
      const revocationPercentage = percent * 1000
      Object.assign(transaction, { revocationType: 'REFUND_PRORATED', revocationPercentage })
    }
    status = STATUS.revoked
    endBillingIssue()
    return signNotification('REFUND')
  }

  /** Refunds the period before the current one. */
  function refundEarlier() {
    const refunded = { ...earlier, revocationDate: now(), revocationReason: 0 }
    return signNotification('REFUND', undefined, refunded)
  }

  function reverseRefund() {
    delete transaction['revocationDate']
    delete transaction['revocationReason']
    status = Number(transaction['expiresDate']) > now() ? STATUS.active : STATUS.expired
    return signNotification('REFUND_REVERSED')
  }

  function revoke() {
    status = STATUS.revoked
    endBillingIssue()
    Object.assign(transaction, { revocationDate: now(), revocationType: 'FAMILY_REVOKE' })
    return signNotification('REVOKE')
  }

  /** An upgrade takes effect now, a downgrade with the next period. */
  function changeProduct(next: string, isUpgrade: boolean) {
    if (isUpgrade) {
      startPeriod(now(), next)
      return signNotification('DID_CHANGE_RENEWAL_PREF', 'UPGRADE')
    }
    renewal['autoRenewProductId'] = next
    return signNotification('DID_CHANGE_RENEWAL_PREF', 'DOWNGRADE')
  }

  function extend(days: number) {
    transaction['expiresDate'] = Number(transaction['expiresDate']) + Math.round(days * DAY)
    return signNotification('RENEWAL_EXTENDED')
  }

  function signNotification(type: string, subtype?: string, of = transaction) {
    changes.push(`${new Date(now()).toISOString()} ${type} ${subtype ?? ''}`.trim())
    return notification(type, subtype, {
      data: {
        environment,
        ...(environment === 'Production' ? { appAppleId: appleId } : {}),
        bundleId,
        status,
        signedTransactionInfo: signer.sign({ ...of, signedDate: now() }),
        signedRenewalInfo: signedRenewal(),
      },
    })
  }

  /** The transaction as StoreKit gives it to the app. */
  function signedTransaction() {
    return signer.sign({ ...transaction, signedDate: now() })
  }

  function signedRenewal() {
    return signer.sign({ ...renewal, signedDate: now() })
  }
}
