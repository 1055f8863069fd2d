import type { PurchaseAccess } from '../purchases/access.ts'

/** What is known about a user in one environment. */
type AccessFacts = {
  environment: 'production' | 'sandbox'
  /** No event has ever named the user. */
  isUnknown: boolean
  /** Another user of the same customer, if its latest event names that user. */
  heldBy: string | null
  /** Best first. */
  purchases: PurchaseAccess[]
  /** Whether the other environment has purchases. */
  hasOtherPurchases: boolean
  /** When the latest event that could not be applied was received; null for none. */
  failedAt?: Date | null
  /** The code of a purchase's plan; null if its product belongs to no plan. */
  planOf: (purchase: PurchaseAccess) => string | null
}

const STORES: Record<string, string> = {
  APP_STORE: 'the App Store',
  MAC_APP_STORE: 'the Mac App Store',
  PLAY_STORE: 'the Play Store',
  STRIPE: 'Stripe',
  AMAZON: 'Amazon',
  PROMOTIONAL: 'a promotion',
  RC_BILLING: 'web billing',
  PADDLE: 'Paddle',
}

/** Explains in one sentence why access is on or off. Times are UTC. */
export function explainAccess(facts: AccessFacts): string {
  const sentence = explainPurchases(facts)
  if (!facts.failedAt) return sentence
  const received = formatTime(facts.failedAt.getTime())
  return `${sentence} An event received on ${received} could not be applied and is not considered.`
}

function explainPurchases(facts: AccessFacts): string {
  const { environment, isUnknown, heldBy, purchases, hasOtherPurchases, planOf } = facts
  if (isUnknown) return 'Access is off: we have no purchase for this account.'
  if (heldBy !== null) {
    return `Access is off: the purchases now belong to ${heldBy}, according to the customer’s latest event.`
  }
  const [best] = purchases
  if (best === undefined) {
    if (!hasOtherPurchases)
      return 'Access is off: we have events for this account, but no purchase.'
    const other = environment === 'production' ? 'test' : 'production'
    return `Access is off: this account has ${other} purchases only.`
  }
  if (!best.active) return `Access is off: ${describeEnded(best)}.`
  const plan = planOf(best)
  const missingPlan = plan === null ? describeMissingPlan(best) : ''
  const also = purchases.find((one) => one !== best && one.active && one.grant !== null)
  const further = also === undefined ? '' : ` Also, ${describeGrant(also)}.`
  return `Access is on${planSuffix(plan)}: ${describeAccess(best)}${missingPlan}.${further}`
}

function describeMissingPlan({ grant }: PurchaseAccess): string {
  // After the operator's reason, a subordinate clause would seem to belong to it.
  return grant === null
    ? ', but no plan on sale includes this product'
    : '. No plan on sale includes this entitlement'
}

function describeAccess(purchase: PurchaseAccess): string {
  if (purchase.grant !== null) return describeGrant(purchase)
  return `${describeProduct(purchase)} ${describeActive(purchase)}`
}

/** `pro is granted by ann until 3 May 2027, 00:00 UTC: beta tester`. */
function describeGrant({ grant, entitlementIds, effectiveEnd }: PurchaseAccess): string {
  const end =
    effectiveEnd === null || isEffectivelyForever(effectiveEnd)
      ? 'without an end'
      : `until ${formatTime(effectiveEnd)}`
  return `${entitlementIds.join(', ')} is granted by ${grant?.by} ${end}: ${grant?.reason}`
}

function describeEnded(purchase: PurchaseAccess): string {
  const { grant, entitlementIds, effectiveEnd } = purchase
  if (grant === null) return `${describeProduct(purchase)} ${describeInactive(purchase)}`
  const granted = `${entitlementIds.join(', ')}, granted by ${grant.by} (${grant.reason})`
  return grant.revokedBy === undefined
    ? `${granted}, ended on ${formatTime(effectiveEnd)}`
    : `${granted}, was revoked by ${grant.revokedBy} on ${formatTime(effectiveEnd)}`
}

function planSuffix(plan: string | null): string {
  return plan === null ? '' : ` with the plan ${plan}`
}

function describeProduct({ productId, store }: PurchaseAccess): string {
  const from = store === null ? '' : ` from ${STORES[store] ?? store}`
  return `${productId ?? 'a purchase'}${from}`
}

function describeActive(purchase: PurchaseAccess): string {
  const { status, willRenew, effectiveEnd, unsubscribeDetectedAt, graceExpiresAt } = purchase
  if (effectiveEnd === null || isEffectivelyForever(effectiveEnd)) return 'never expires'
  const end = formatTime(effectiveEnd)
  if (status === 'in_grace_period') {
    return `is in its grace period until ${formatTime(graceExpiresAt)}, because payment failed`
  }
  if (status === 'in_billing_retry')
    return `is paid until ${end}, but payment for the next period failed`
  if (purchase.isTemporary)
    return `is granted until ${end}, because the store could not confirm the purchase`
  const kind = status === 'trialing' ? 'is in its trial' : 'is paid'
  if (willRenew) return `${kind} until ${end} and will renew`
  const since =
    unsubscribeDetectedAt === null ? '' : ` (cancelled on ${formatTime(unsubscribeDetectedAt)})`
  return `${kind} until ${end} and will not renew${since}`
}

function describeInactive(purchase: PurchaseAccess): string {
  const { status, refundedAt, pausedAt, autoResumeAt, effectiveEnd, cancelReason } = purchase
  if (status === 'refunded') return `was refunded on ${formatTime(refundedAt)}`
  if (status === 'paused') {
    const resumes = autoResumeAt === null ? '' : ` and resumes on ${formatTime(autoResumeAt)}`
    return `was paused on ${formatTime(pausedAt)}${resumes}`
  }
  const end = formatTime(effectiveEnd)
  if (purchase.billingIssueDetectedAt !== null || cancelReason === 'BILLING_ERROR') {
    return `ended on ${end} because payment failed`
  }
  if (purchase.unsubscribeDetectedAt !== null) {
    return `ended on ${end} after it was cancelled on ${formatTime(purchase.unsubscribeDetectedAt)}`
  }
  if (purchase.endedAt !== null) return `ended on ${end}`
  return `was paid until ${end}, and we received no renewal`
}

/** A five-digit year means never. */
export function isEffectivelyForever(ms: number): boolean {
  return ms >= Date.UTC(10_000, 0)
}

/** `6 July 2026, 14:00 UTC`. */
function formatTime(ms: number | null): string {
  if (ms === null) return 'an unknown date'
  const date = new Date(ms)
  const day = date.toLocaleDateString('en-GB', {
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    timeZone: 'UTC',
  })
  return `${day}, ${date.toISOString().slice(11, 16)} UTC`
}
