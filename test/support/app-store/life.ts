import type { Turn } from '../store-histories.ts'
import type { FakeSubscription } from './app-store.ts'
import { type SignedNotification, STATUS } from './subscription.ts'

/** The next change, and its time (ms). `type` is the billing provider's event; null if it sends none. */
type Change = { at: number; type: string | null; apply: () => SignedNotification }

const PRODUCTS = ['basic', 'pro', 'gold']
const GRACE_DAYS = 16
const EXTENSION_DAYS = 5

/** The next change of a subscription after `now` (ms). */
export function nextChange(
  bought: FakeSubscription,
  { wait, isAtEnd, choice }: Turn,
  now: number,
  periodMs: number,
): Change {
  const { transaction, renewal } = bought
  const unit = periodMs / 720
  const scale = periodMs / (720 * 3_600_000)
  const later = Math.ceil(now + wait * unit)
  const soonAfter = (end: number) =>
    Math.ceil(Math.max(end, now) + (1 + (choice % 30)) * (unit / 60))
  const isOn = renewal['autoRenewStatus'] === 1
  const current = String(transaction['productId'])
  const others = PRODUCTS.filter((product) => product !== current)
  const other = others[choice % 2] ?? current
  const toggle: Change = {
    at: later,
    type: isOn ? 'CANCELLATION' : 'UNCANCELLATION',
    apply: () => bought.setAutoRenew(!isOn),
  }
  switch (bought.status()) {
    case STATUS.active:
      return active()
    case STATUS.inGrace: {
      const end = Number(renewal['gracePeriodExpiresDate'])
      if (isAtEnd || later >= end) {
        return { at: soonAfter(end), type: 'EXPIRATION', apply: bought.endGrace }
      }
      return choice % 3 === 0 ? toggle : recover()
    }
    case STATUS.inRetry:
      return pick(recover(), toggle, {
        at: later,
        type: 'EXPIRATION',
        apply: () => bought.expire('BILLING_RETRY'),
      })
    case STATUS.expired:
      return pick(resubscribe(), resubscribe(), refund())
    default:
      return transaction['revocationType'] === 'FAMILY_REVOKE'
        ? resubscribe()
        : pick(resubscribe(), reverseRefund())
  }

  function active(): Change {
    const end = Number(transaction['expiresDate'])
    if (isAtEnd || later >= end) return boundary(end)
    const isFirst = transaction['transactionId'] === transaction['originalTransactionId']
    return pick(
      toggle,
      toggle,
      { at: later, type: 'RENEWAL', apply: () => bought.changeProduct(other, true) },
      { at: later, type: 'PRODUCT_CHANGE', apply: () => bought.changeProduct(other, false) },
      refund(),
      isFirst ? toggle : { at: later, type: null, apply: bought.refundEarlier },
      {
        at: later,
        type: 'SUBSCRIPTION_EXTENDED',
        apply: () => bought.extend(EXTENSION_DAYS * scale),
      },
      { at: later, type: null, apply: bought.revoke },
    )
  }

  function boundary(end: number): Change {
    const at = soonAfter(end)
    if (!isOn) return { at, type: 'EXPIRATION', apply: bought.expire }
    const fail = (days: number): Change => ({
      at,
      type: 'BILLING_ISSUE',
      apply: () => bought.failToRenew(days),
    })
    const renew: Change = { at, type: 'RENEWAL', apply: bought.renew }
    return pick(renew, renew, renew, fail(GRACE_DAYS * scale), fail(0))
  }

  function recover(): Change {
    return { at: later, type: 'RENEWAL', apply: () => bought.renew('BILLING_RECOVERY') }
  }

  function resubscribe(): Change {
    const product = choice % 2 === 0 ? current : other
    return { at: later, type: 'RENEWAL', apply: () => bought.resubscribe(product) }
  }

  function refund(): Change {
    return { at: later, type: 'REFUND', apply: bought.refund }
  }

  function reverseRefund(): Change {
    return { at: later, type: 'REFUND_REVERSED', apply: bought.reverseRefund }
  }

  function pick<T>(...options: T[]): T {
    return options[choice % options.length] as T
  }
}

/** The billing provider's event about a change that has just happened, sent at `at` (ms). */
export function providerEvent(
  bought: FakeSubscription,
  type: string,
  at: number,
  userId: string | null = null,
) {
  const { transaction, renewal } = bought
  const { productId, purchaseDate, expiresDate, transactionId, environment } = transaction
  const reasons: Record<string, string> = {
    CANCELLATION: 'UNSUBSCRIBE',
    REFUND: 'CUSTOMER_SUPPORT',
  }
  const event = {
    id: crypto.randomUUID(),
    type: type === 'REFUND' ? 'CANCELLATION' : type,
    event_timestamp_ms: at,
    app_user_id: userId ?? `user-${transaction['originalTransactionId']}`,
    environment: environment === 'Sandbox' ? 'SANDBOX' : 'PRODUCTION',
    store: 'APP_STORE',
    product_id: productId,
    new_product_id: renewal['autoRenewProductId'],
    entitlement_ids: [productId],
    period_type: 'NORMAL',
    purchased_at_ms: purchaseDate,
    expiration_at_ms: expiresDate,
    grace_period_expiration_at_ms: renewal['gracePeriodExpiresDate'] ?? null,
    cancel_reason: reasons[type] ?? null,
    transaction_id: transactionId,
    original_transaction_id: transaction['originalTransactionId'],
  }
  return { api_version: '1.0', event }
}
