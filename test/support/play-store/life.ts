import type { Turn } from '../store-histories.ts'
import type { DeveloperNotification } from './formats.ts'
import type { FakeSubscription } from './plan-changes.ts'

/** The successive subscriptions of one customer; only the last one still changes. */
export type PurchaseChain = { current: FakeSubscription; all: FakeSubscription[] }

/** The next change, and its time (ms). `type` is the billing provider's event; null if it sends none. */
type Change = { at: number; type: string | null; apply: () => DeveloperNotification[] }

const PRODUCTS = ['basic', 'pro', 'gold']
const GRACE_DAYS = 16
const EXTENSION_DAYS = 5
const PAUSE_DAYS = 20

/** The next change of a customer's subscription after `now` (ms). */
export function nextPlayChange(
  chain: PurchaseChain,
  { wait, isAtEnd, choice }: Turn,
  now: number,
  periodMs: number,
): Change {
  const bought = chain.current
  const { record, purchase } = bought
  const unit = periodMs / 720
  const scale = periodMs / (720 * 3_600_000)
  const later = Math.ceil(now + wait * unit)
  const soonAfter = (end: number) =>
    Math.ceil(Math.max(end, now) + (1 + (choice % 30)) * (unit / 60))
  const [item] = purchase.lineItems
  const others = PRODUCTS.filter((product) => product !== item?.productId)
  const other = others[choice % 2] ?? 'pro'
  const hasPendingChange = purchase.lineItems.length > 1
  const planned = bought.state()
  // Google may have revoked the purchase in the meantime.
  const change = (
    type: string | null,
    act: () => DeveloperNotification | DeveloperNotification[],
    at = later,
  ): Change => ({ at, type, apply: () => (bought.state() === planned ? [act()].flat() : []) })
  const refund = () => change('REFUND', () => bought.refund())
  switch (planned) {
    case 'ACTIVE':
      return isAtEnd || later >= record.periodEnd() ? boundary() : withinPeriod()
    case 'CANCELED': {
      const isOver = isAtEnd || later >= record.periodEnd()
      if (isOver) return change('EXPIRATION', () => bought.expire(), soonAfter(record.periodEnd()))
      return pick(
        change('UNCANCELLATION', () => bought.restore()),
        refund(),
      )
    }
    case 'IN_GRACE_PERIOD': {
      const end = Math.max(
        ...purchase.lineItems.map(({ expiryTime }) => Date.parse(expiryTime ?? '')),
      )
      if (isAtEnd || later >= end) return change('EXPIRATION', () => bought.hold(), soonAfter(end))
      return change('RENEWAL', () => bought.renew())
    }
    case 'ON_HOLD':
      return pick(
        change('RENEWAL', () => bought.renew()),
        change('EXPIRATION', () => bought.expire()),
      )
    case 'PAUSED':
      return pick(
        change('RENEWAL', () => bought.resume()),
        change('EXPIRATION', () => bought.cancel()),
      )
    default:
      return change('INITIAL_PURCHASE', () => {
        chain.current = bought.resubscribe({ isLinked: choice % 3 !== 0 })
        chain.all.push(chain.current)
        return chain.current.notification ?? []
      })
  }

  function withinPeriod(): Change {
    const cancel = change('CANCELLATION', () => bought.cancel())
    return pick(
      cancel,
      cancel,
      hasPendingChange ? cancel : change('INITIAL_PURCHASE', replaceNow),
      hasPendingChange
        ? cancel
        : change('PRODUCT_CHANGE', () => bought.changeProduct(other, 'deferred')),
      refund(),
      record.orders.length < 2 ? cancel : change(null, () => bought.refundEarlier()),
      change('SUBSCRIPTION_EXTENDED', () => bought.extend(EXTENSION_DAYS * scale)),
      change('EXPIRATION', () => bought.revoke()),
      change(null, () => bought.schedulePause()),
    )
  }

  function replaceNow() {
    chain.current = bought.changeProduct(other, 'immediate')
    chain.all.push(chain.current)
    return [chain.current.notification ?? [], chain.current.replacedNotification ?? []].flat()
  }

  function boundary(): Change {
    const at = soonAfter(record.periodEnd())
    const renew = change('RENEWAL', () => bought.renew(), at)
    return pick(
      renew,
      renew,
      renew,
      hasPendingChange
        ? renew
        : change('BILLING_ISSUE', () => bought.failToRenew(GRACE_DAYS * scale), at),
      hasPendingChange ? renew : change('EXPIRATION', () => bought.hold(), at),
      hasPendingChange ? renew : change('EXPIRATION', () => bought.pause(PAUSE_DAYS * scale), at),
    )
  }

  function pick<T>(...options: T[]): T {
    return options[choice % options.length] as T
  }
}

/** The billing provider's event about a change that has just happened, sent at `at` (ms). */
export function playProviderEvent(
  { record, purchase, state }: FakeSubscription,
  type: string,
  at: number,
  userId: string | null,
) {
  const [first] = record.orders
  const current = record.orders.at(-1)
  const [item] = purchase.lineItems
  const reasons: Record<string, string> = {
    CANCELLATION: 'UNSUBSCRIBE',
    REFUND: 'CUSTOMER_SUPPORT',
  }
  const isInGrace = state() === 'IN_GRACE_PERIOD'
  const event = {
    id: crypto.randomUUID(),
    type: type === 'REFUND' ? 'CANCELLATION' : type,
    event_timestamp_ms: at,
    app_user_id: userId ?? `user-${first?.id}`,
    environment: purchase.testPurchase === undefined ? 'PRODUCTION' : 'SANDBOX',
    store: 'PLAY_STORE',
    product_id: item?.productId,
    new_product_id: item?.deferredItemReplacement?.productId ?? null,
    entitlement_ids: [item?.productId],
    period_type: 'NORMAL',
    purchased_at_ms: current?.at,
    expiration_at_ms: record.periodEnd(),
    grace_period_expiration_at_ms: isInGrace ? Date.parse(item?.expiryTime ?? '') : null,
    cancel_reason: reasons[type] ?? null,
    transaction_id: current?.id,
    original_transaction_id: first?.id,
  }
  return { api_version: '1.0', event }
}
