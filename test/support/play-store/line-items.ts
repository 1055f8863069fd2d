import { type LineItem, timestamp } from './formats.ts'

const RECURRING_PRICE = { currencyCode: 'USD', units: '9', nanos: 990_000_000 }

type Plan = { basePlan: string | null; isPrepaid: boolean; isTrial: boolean }

/** A line item that is not owned yet: it has no order and no end. */
export function createLineItem(productId: string, { basePlan, isPrepaid, isTrial }: Plan) {
  const item: LineItem = {
    productId,
    ...(isPrepaid
      ? { prepaidPlan: {} }
      : { autoRenewingPlan: { autoRenewEnabled: true, recurringPrice: RECURRING_PRICE } }),
    offerPhase: isTrial ? { freeTrial: {} } : { basePrice: {} },
  }
  if (basePlan !== null) {
    item.offerDetails = { basePlanId: basePlan, ...(isTrial ? { offerId: 'free-trial' } : {}) }
  }
  return item
}

/** Gives an item the order and the end (ms) of a period. */
export function grantItem(item: LineItem, orderId: string, startedAt: number, endsAt: number) {
  item.latestSuccessfulOrderId = orderId
  item.expiryTime = timestamp(endsAt)
  if (item.prepaidPlan) item.prepaidPlan = { allowExtendAfterTime: timestamp(startedAt) }
}

export function setAutoRenew(item: LineItem, isOn: boolean) {
  if (!item.autoRenewingPlan) return
  const { recurringPrice } = item.autoRenewingPlan
  item.autoRenewingPlan = { ...(isOn ? { autoRenewEnabled: true } : {}), recurringPrice }
}

/** Ends an item at `at` (ms), unless it has ended before or is not owned yet. */
export function endItem(item: LineItem, at: number) {
  if (item.expiryTime !== undefined && Date.parse(item.expiryTime) > at) {
    item.expiryTime = timestamp(at)
  }
}

/** Moves the end of the items that are owned. */
export function moveEnd(items: LineItem[], endsAt: number) {
  for (const item of items) if (item.expiryTime !== undefined) item.expiryTime = timestamp(endsAt)
}

/** The items of a purchase's next period, in which products that waited for it replace the former ones. */
export function nextItems(items: LineItem[]): LineItem[] {
  const next = items.filter((item) => item.deferredItemReplacement === undefined)
  for (const item of next) item.offerPhase = { basePrice: {} }
  return next
}
