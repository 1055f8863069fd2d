import { type CanceledStateContext, DAY, type PreviousPurchase, timestamp } from './formats.ts'
import { endItem, moveEnd, nextItems } from './line-items.ts'
import { UNACKNOWLEDGED } from './notices.ts'
import {
  ACKNOWLEDGEMENT_MS,
  createSubscriptionRecord,
  type SubscriptionDeps,
  type SubscriptionOptions,
} from './subscription-record.ts'

const ACKNOWLEDGED = 'ACKNOWLEDGEMENT_STATE_ACKNOWLEDGED'

export type Subscription = ReturnType<typeof createSubscription>

/** One purchase token in the fake Play Store. Each change returns the notification about it. */
export function createSubscription(
  deps: SubscriptionDeps,
  options: SubscriptionOptions,
  previous: PreviousPurchase = {},
) {
  const record = createSubscriptionRecord(deps, options, previous)
  const { purchase, orders, now, state, expectState, enter, end, notify, voidOrder } = record
  const { token, changes, answer, submission, goneAt } = record
  const { isTest = false, isPrepaid = false, isPending = false } = options
  let isRefunded = false
  return {
    kind: 'subscription' as const,
    token,
    /** The changes so far, as notification types with their times. */
    changes,
    purchase,
    /** Reports the purchase; null while it is pending. */
    notification: isPending ? null : record.start(),
    state,
    answer,
    submission,
    goneAt,
    acknowledge,
    refundIfUnacknowledged,
    renew,
    resume,
    cancel,
    restore,
    failToRenew,
    hold,
    pause,
    schedulePause,
    expire,
    revoke,
    refund,
    refundEarlier,
    extend,
    pay,
    giveUp,
    /** For plan changes. */
    record,
  }

  /** Starts the next period when the last one ends, or now after account hold or a pause. */
  function renew() {
    const before = expectState('ACTIVE', 'IN_GRACE_PERIOD', 'ON_HOLD', 'PAUSED')
    if (isPrepaid) throw new Error('a prepaid plan does not renew')
    purchase.lineItems = nextItems(purchase.lineItems)
    record.startPeriod(before === 'ON_HOLD' || before === 'PAUSED' ? now() : record.periodEnd())
    return notify(before === 'ACTIVE' ? 'RENEWED' : 'RECOVERED')
  }

  function resume() {
    expectState('PAUSED')
    return renew()
  }

  /** Without access, a subscription is over as soon as it is canceled. */
  function cancel(by: 'user' | 'system' | 'developer' = 'user') {
    const before = expectState('ACTIVE', 'IN_GRACE_PERIOD', 'ON_HOLD', 'PAUSED')
    const contexts: Record<typeof by, CanceledStateContext> = {
      user: { userInitiatedCancellation: { cancelTime: timestamp(now()) } },
      system: { systemInitiatedCancellation: {} },
      developer: { developerInitiatedCancellation: {} },
    }
    if (before === 'ON_HOLD' || before === 'PAUSED') end(now(), contexts[by])
    else enter('CANCELED', { canceledStateContext: contexts[by] })
    return notify('CANCELED')
  }

  function restore() {
    expectState('CANCELED')
    enter('ACTIVE')
    return notify('RESTARTED')
  }

  /** Moves the end of the subscription to the end of the grace period. */
  function failToRenew(graceDays: number) {
    if (graceDays === 0) return hold()
    expectState('ACTIVE')
    enter('IN_GRACE_PERIOD', { inGracePeriodStateContext: renewalDeclined() })
    moveEnd(purchase.lineItems, record.periodEnd() + Math.round(graceDays * DAY))
    return notify('IN_GRACE_PERIOD')
  }

  function hold() {
    expectState('ACTIVE', 'IN_GRACE_PERIOD')
    enter('ON_HOLD', { onHoldStateContext: renewalDeclined() })
    for (const item of purchase.lineItems) endItem(item, now())
    return notify('ON_HOLD')
  }

  function renewalDeclined() {
    return { renewalDeclined: { pendingOrderId: record.nextOrderId() } }
  }

  function pause(resumeInDays: number) {
    expectState('ACTIVE')
    const autoResumeTime = timestamp(now() + Math.round(resumeInDays * DAY))
    enter('PAUSED', { pausedStateContext: { autoResumeTime } })
    for (const item of purchase.lineItems) endItem(item, now())
    return notify('PAUSED')
  }

  /** Google's response does not show a pause before it begins. */
  function schedulePause() {
    expectState('ACTIVE')
    return notify('PAUSE_SCHEDULE_CHANGED')
  }

  function expire() {
    expectState('ACTIVE', 'IN_GRACE_PERIOD', 'ON_HOLD', 'PAUSED', 'CANCELED')
    const unpaid = isPrepaid ? null : { systemInitiatedCancellation: {} }
    end(now(), purchase.canceledStateContext ?? unpaid)
    return notify('EXPIRED')
  }

  /** Ends access without a refund. */
  function revoke() {
    expectState('ACTIVE', 'IN_GRACE_PERIOD', 'ON_HOLD', 'PAUSED', 'CANCELED')
    end(now(), { developerInitiatedCancellation: {} })
    return notify('REVOKED')
  }

  /** Refunds the current order and ends access, if any is left. Returns the notifications about both. */
  function refund(reason = 1) {
    return refundAt(now(), reason)
  }

  function refundAt(at: number, reason: number) {
    if (isRefunded) throw new Error('the current order has already been refunded')
    const notification = voidOrder(orders.at(-1), at, reason)
    isRefunded = true
    if (state() === 'EXPIRED') return [notification]
    end(at, { systemInitiatedCancellation: {} })
    return [notification, notify('REVOKED', at)]
  }

  /** Refunds the order before the current one, which does not affect access. */
  function refundEarlier(reason = 1) {
    return voidOrder(orders.at(-2), now(), reason)
  }

  function extend(days: number) {
    expectState('ACTIVE', 'CANCELED')
    record.setPeriodEnd(record.periodEnd() + Math.round(days * DAY))
    moveEnd(purchase.lineItems, record.periodEnd())
    return notify('DEFERRED')
  }

  function pay() {
    expectState('PENDING')
    return record.start()
  }

  function giveUp() {
    expectState('PENDING')
    enter('PENDING_PURCHASE_CANCELED')
    return notify('PENDING_PURCHASE_CANCELED')
  }

  /** Returns false if there is nothing to acknowledge, because the purchase is unpaid or refunded. */
  function acknowledge(accountId?: string): boolean {
    if (isRefunded || orders.length === 0) return false
    purchase.acknowledgementState = ACKNOWLEDGED
    delete purchase.outOfAppPurchaseContext
    if (accountId !== undefined) record.setAccount(accountId)
    return true
  }

  /** Refunds the purchase if it was not acknowledged in time. */
  function refundIfUnacknowledged() {
    const [first] = orders
    if (!first || purchase.acknowledgementState === ACKNOWLEDGED || state() === 'EXPIRED') return []
    const deadline = first.at + ACKNOWLEDGEMENT_MS[isTest ? 'test' : 'production']
    if (now() < deadline) return []
    return refundAt(Math.max(deadline, orders.at(-1)?.at ?? 0), UNACKNOWLEDGED)
  }
}
