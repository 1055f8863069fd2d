import type { LineAccess } from '../lines/access.ts'

/** What is known of a person's purchases in one environment. `lines`: the best one first. */
type Facts = {
  userId: string
  environment: 'production' | 'sandbox'
  /** No event has ever named the person. */
  isUnknown: boolean
  /** Another person of ours whom the latest event of the same customer names. */
  heldBy: string | null
  lines: LineAccess[]
  /** Whether the other environment has any. */
  hasOther: boolean
  /** The code of the plan that a line belongs to, null when none on sale names it. */
  planOf: (line: LineAccess) => string | null
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

/** Why access is on or off, in one sentence. Times are UTC. */
export function explainAccess(facts: Facts): string {
  const { userId, environment, isUnknown, heldBy, lines, hasOther, planOf } = facts
  if (isUnknown) return `Access is off: no billing event has ever named ${userId}.`
  if (heldBy !== null) {
    return `Access is off: what was bought belongs to ${heldBy} now, whom the latest event of the same customer names.`
  }
  const [best] = lines
  if (best === undefined) {
    const names = { production: 'production', sandbox: 'the sandbox' }
    const own = names[environment]
    const other = environment === 'production' ? names.sandbox : names.production
    return hasOther
      ? `Access is off: there are purchases in ${other} only, none in ${own}.`
      : `Access is off: events name ${userId}, but none of them is about a purchase of theirs.`
  }
  if (!best.active) return `Access is off: ${nameOf(best)} ${whyOff(best)}.`
  const plan = planOf(best)
  const gap = plan === null ? ', but no plan on sale names this product, so no plan is given' : ''
  return `Access is on${planned(plan)}: ${nameOf(best)} ${whyOn(best)}${gap}.`
}

function planned(plan: string | null): string {
  return plan === null ? '' : ` with the plan ${plan}`
}

function nameOf({ productId, store }: LineAccess): string {
  const from = store === null ? '' : ` from ${STORES[store] ?? store}`
  return `${productId ?? 'a purchase'}${from}`
}

function whyOn(line: LineAccess): string {
  const { status, willRenew, effectiveEnd, unsubscribeDetectedAt, graceExpiresAt } = line
  if (effectiveEnd === null || isForGood(effectiveEnd)) return 'was bought for good'
  const end = dayOf(effectiveEnd)
  if (status === 'in_grace_period') {
    return `could not be charged, and has time until ${dayOf(graceExpiresAt)} to be paid`
  }
  if (status === 'in_billing_retry') return `could not be charged, and is paid until ${end}`
  if (line.isTemporary) return `is granted until ${end}, while the store cannot be asked`
  const kind = status === 'trialing' ? 'is in its trial' : 'is paid'
  if (willRenew) return `${kind} until ${end} and will renew`
  const since =
    unsubscribeDetectedAt === null ? '' : ` (cancelled on ${dayOf(unsubscribeDetectedAt)})`
  return `${kind} until ${end} and will not renew${since}`
}

function whyOff(line: LineAccess): string {
  const { status, refundedAt, pausedAt, autoResumeAt, effectiveEnd, cancelReason } = line
  if (status === 'refunded') return `was refunded on ${dayOf(refundedAt)}`
  if (status === 'paused') {
    const resumes = autoResumeAt === null ? '' : ` and resumes on ${dayOf(autoResumeAt)}`
    return `was paused on ${dayOf(pausedAt)}${resumes}`
  }
  const end = dayOf(effectiveEnd)
  if (line.billingIssueDetectedAt !== null || cancelReason === 'BILLING_ERROR') {
    return `ended on ${end}, because it could not be charged`
  }
  if (line.unsubscribeDetectedAt !== null) {
    return `ended on ${end}, after it was cancelled on ${dayOf(line.unsubscribeDetectedAt)}`
  }
  if (line.endedAt !== null) return `ended on ${end}`
  return `was paid until ${end}, and no event has said that it was renewed`
}

/** Years of five digits, which mean never. */
export function isForGood(ms: number): boolean {
  return ms >= Date.UTC(10_000, 0)
}

/** `6 July 2026, 14:00 UTC`. */
function dayOf(ms: number | null): string {
  if (ms === null) return 'an unknown day'
  const date = new Date(ms)
  const day = date.toLocaleDateString('en-GB', {
    day: 'numeric',
    month: 'long',
    year: 'numeric',
    timeZone: 'UTC',
  })
  return `${day}, ${date.toISOString().slice(11, 16)} UTC`
}
