import { computePeriodEnd } from '../../../lib/time/plan-durations.ts'
import type { Environment } from '../environment.ts'
import { isOneTime, type PurchaseAccess, unlocks } from '../purchases/access.ts'
import {
  type Catalogue,
  findPlanOfPurchase,
  type Offer,
  type PurchasablePlan,
} from './plan-matching.ts'

type AccessReasons = {
  environment: Environment
  /** No event has ever named the user. */
  isUnknown: boolean
  /** Another user of the same customer, if the customer's latest event names that user. */
  heldBy: string | null
  /** Best first. */
  purchases: PurchaseAccess[]
  /** Whether the other environment has purchases. */
  hasOtherPurchases: boolean
  /** The plan of a purchase; null if its product belongs to no plan. */
  findPlanOfPurchase: (purchase: PurchaseAccess) => NamedPlan | null
}

type NamedPlan = { code: string; name: string; duration: string }

/** By the length of the period in ms. */
const ADVERBS = new Map(
  Object.entries({ day: 'daily', week: 'weekly', month: 'monthly', year: 'yearly' }).map(
    ([duration, adverb]) => [computePeriodEnd(0, duration), adverb],
  ),
)

const STORES: Record<string, string> = {
  APP_STORE: 'the App Store',
  MAC_APP_STORE: 'the Mac App Store',
  PLAY_STORE: 'Google Play',
  STRIPE: 'Stripe',
  AMAZON: 'Amazon',
  PROMOTIONAL: 'a promotion',
  RC_BILLING: 'web billing',
  PADDLE: 'Paddle',
}

/** The plan and why its access continues or has ended, such as `Pro, monthly. Renews on 6 July 2026, 14:00 UTC.` */
export function explainAccess(facts: AccessReasons): string {
  const { environment, isUnknown, heldBy, purchases, hasOtherPurchases, findPlanOfPurchase } = facts
  if (isUnknown) return 'We have no purchase for this account.'
  if (heldBy !== null) {
    return `The purchases now belong to ${heldBy}, according to the customer’s latest event.`
  }
  const [best] = purchases.filter((purchase) => !isOneTime(purchase))
  if (best === undefined) {
    if (purchases.length > 0) return 'No subscription, only one-time purchases.'
    if (!hasOtherPurchases) return 'We have events for this account, but no purchase.'
    const other = environment === 'production' ? 'test' : 'production'
    return `This account has ${other} purchases only.`
  }
  const plan = findPlanOfPurchase(best)
  const title = plan === null ? describeProduct(best) : describePlan(plan, best)
  if (!best.active) return `${title}. ${describeEnded(best)}.`
  const additional = purchases.find(
    (one) => one !== best && one.active && (one.grant !== null || best.grant !== null),
  )
  return [
    `${title}. ${describeActive(best)}.`,
    ...(plan === null ? [describeMissingPlan(best)] : []),
    ...(additional ? [describeAdditional(additional)] : []),
  ].join(' ')
}

/** Access granted in addition to a purchase, or a purchase that continues alongside granted access. */
function describeAdditional(additional: PurchaseAccess): string {
  return additional.grant === null
    ? `Also has ${describeProduct(additional)}: ${describeActive(additional)}.`
    : `Also ${additional.entitlementIds.join(', ')}, ${describeGrant(additional)}.`
}

/** Warns that a failed event is not reflected in the access shown. */
export function describeFailure(receivedAt: Date): string {
  return `An event received on ${formatTime(receivedAt.getTime())} could not be applied and is not considered.`
}

/** The title of the plan that a purchase gives; null if its product belongs to none. */
export function findPlanTitle(
  purchase: Offer,
  catalogue: Catalogue<PurchasablePlan & NamedPlan>,
): string | null {
  const plan = findPlanOfPurchase(purchase, catalogue)
  return plan ? describePlan(plan, purchase) : null
}

/** Granted access has no billing period. */
function describePlan(plan: NamedPlan, { grant }: Pick<Offer, 'grant'>): string {
  return grant === null ? planTitle(plan) : plan.name || plan.code
}

/** `Pro, monthly`. */
export function planTitle({ code, name, duration }: NamedPlan): string {
  const adverb = ADVERBS.get(computePeriodEnd(0, duration))
  const isNamed = adverb !== undefined && name.toLowerCase().includes(adverb)
  return [name || code, ...(adverb && !isNamed ? [adverb] : [])].join(', ')
}

function describeProduct({ productId, store, grant, entitlementIds }: PurchaseAccess): string {
  if (grant !== null) return entitlementIds.join(', ')
  const from = store === null ? '' : ` from ${STORES[store] ?? store}`
  return `${productId ?? 'Unknown product'}${from}`
}

function describeMissingPlan(purchase: PurchaseAccess): string {
  const missing = `No plan on sale includes this ${purchase.grant === null ? 'product' : 'entitlement'}`
  return unlocks(purchase) ? `${missing}.` : `${missing}, so it unlocks nothing.`
}

/** `granted by ann until 3 May 2027, 00:00 UTC: beta tester`. */
function describeGrant({ grant, effectiveEnd }: PurchaseAccess): string {
  const end =
    effectiveEnd === null || isEffectivelyForever(effectiveEnd)
      ? 'without an end'
      : `until ${formatTime(effectiveEnd)}`
  return `granted by ${grant?.by} ${end}: ${grant?.reason}`
}

function describeActive(purchase: PurchaseAccess): string {
  const { status, willRenew, effectiveEnd, unsubscribeDetectedAt, graceExpiresAt } = purchase
  if (purchase.grant !== null) return describeGrant(purchase).replace(/^g/, 'G')
  if (effectiveEnd === null || isEffectivelyForever(effectiveEnd)) return 'Never expires'
  const end = formatTime(effectiveEnd)
  if (status === 'in_grace_period')
    return `Payment failed; in the grace period until ${formatTime(graceExpiresAt)}`
  if (status === 'in_billing_retry')
    return `Paid until ${end}, but payment for the next period failed`
  if (purchase.isTemporary)
    return `Access until ${end} only, because the store could not confirm the purchase`
  const isTrial = status === 'trialing'
  if (willRenew) return isTrial ? `In trial until ${end}, then renews` : `Renews on ${end}`
  const since =
    unsubscribeDetectedAt === null ? '' : `; cancelled on ${formatTime(unsubscribeDetectedAt)}`
  return `${isTrial ? 'Trial ends' : 'Ends'} on ${end}${since}`
}

function describeEnded(purchase: PurchaseAccess): string {
  const { status, refundedAt, pausedAt, autoResumeAt, effectiveEnd, cancelReason } = purchase
  const { grant, unsubscribeDetectedAt } = purchase
  const end = formatTime(effectiveEnd)
  if (grant !== null) {
    const granted = `Granted by ${grant.by} (${grant.reason})`
    return grant.revokedBy === undefined
      ? `${granted}; ended on ${end}`
      : `${granted}; revoked by ${grant.revokedBy} on ${end}`
  }
  if (status === 'refunded')
    return `${cancelReason === 'DISPUTED' ? 'Disputed with the bank' : 'Refunded'} on ${formatTime(refundedAt)}`
  if (status === 'paused') {
    const resumes = autoResumeAt === null ? '' : `; resumes on ${formatTime(autoResumeAt)}`
    return `Paused on ${formatTime(pausedAt)}${resumes}`
  }
  if (purchase.billingIssueDetectedAt !== null || cancelReason === 'BILLING_ERROR')
    return `Ended on ${end} because payment failed`
  if (unsubscribeDetectedAt !== null)
    return `Ended on ${end}; cancelled on ${formatTime(unsubscribeDetectedAt)}`
  if (purchase.endedAt !== null) return `Ended on ${end}`
  return `Paid until ${end}; no renewal received`
}

/** ISO 8601. Null means never; it also replaces five-digit years, which apps cannot parse. */
export function isoTime(ms: number | null): string | null {
  return ms === null || isEffectivelyForever(ms) ? null : new Date(ms).toISOString()
}

/** A five-digit year means never. */
const FOREVER_MS = Date.UTC(10_000, 0)

export function isEffectivelyForever(ms: number): boolean {
  return ms >= FOREVER_MS
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
