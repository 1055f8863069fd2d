import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../../lib/time/durations.ts'
import { retryDelay } from '../../../../platform/queue/retry-delay.ts'
import { REFRESHES } from '../../../billing/purchases/refreshes.ts'
import { computeRefresh } from '../../checks/schedule.ts'
import type { PlayAnswer } from '../api/answer.ts'
import type { PlayApiError } from '../api/api-error.ts'
import { type KnownPurchase, URGENCY } from './purchases.ts'

const { afterMs, untilMs } = REFRESHES.store
const QUIET_MS = 7 * DAY_MS
/** A purchase may be unknown for a moment after it was made. */
const UNKNOWN_DELAYS_MS = [2 * MINUTE_MS, 8 * MINUTE_MS]
/** Google does not report that the app has consumed a product. Most apps consume it at once. */
const CONSUMPTION_DELAYS_MS = [2 * MINUTE_MS, HOUR_MS, DAY_MS]
const OVER = new Set<string | null>(['EXPIRED', 'CANCELLED', 'PENDING_PURCHASE_CANCELED'])
/** How many times Google may report a confirmed, running purchase as unknown: for about two months. */
const MAX_MISSES = 240
const MAX_DELAY_MS = 6 * HOUR_MS
const GENERAL_DELAY_MS = 10 * MINUTE_MS
/** After requests that failed. */
export const RETRIES = {
  delays: [1, 2, 4, 8, 16, 32, 64, 128, 256].map((minutes) => minutes * MINUTE_MS),
  thenMs: MAX_DELAY_MS,
}

/** `dueAt` is null if nothing can change any more. */
export function planAfter(answer: PlayAnswer, attempts: number, now: Date) {
  const at = now.getTime()
  const expectedAt = findNextChange(answer, at)
  const isOverdue = expectedAt !== null && expectedAt <= at
  const quietUntil = answer.state === 'EXPIRED' ? Number.POSITIVE_INFINITY : at + QUIET_MS
  return {
    dueAt:
      expectedAt === null
        ? null
        : new Date(Math.min(computeRefresh(expectedAt, attempts, at), quietUntil)),
    attempts: isOverdue ? attempts + 1 : 0,
    misses: 0,
    urgency: URGENCY.routine,
  }
}

/** When the purchase may next change, in ms; null: never. */
function findNextChange(answer: PlayAnswer, at: number): number | null {
  const end = findEnd(answer)
  switch (answer.state) {
    case 'PENDING_PURCHASE_CANCELED':
    case 'CANCELLED':
      return null
    case 'EXPIRED':
      return (end ?? at) + untilMs
    case 'PURCHASED': {
      const delay = CONSUMPTION_DELAYS_MS.find((ms) => at < (answer.startedAt ?? 0) + ms)
      return delay === undefined ? null : at + delay
    }
    case 'PENDING':
    case 'ON_HOLD':
      return at + DAY_MS
    case 'PAUSED':
      return (answer.autoResumeAt ?? at) + afterMs
    default:
      return (end ?? at) + afterMs
  }
}

/** Google sends no notification when the app acknowledges a purchase, so Homeport queries it again soon. */
export function planUnacknowledged<Plan extends { dueAt: Date | null }>(plan: Plan, now: Date) {
  const soon = new Date(now.getTime() + MAX_DELAY_MS)
  return { ...plan, dueAt: plan.dueAt !== null && plan.dueAt < soon ? plan.dueAt : soon }
}

export function planAfterFailure(
  { attempts, misses, items }: Pick<KnownPurchase, 'attempts' | 'misses' | 'items'>,
  { reason }: PlayApiError,
  now: Date,
) {
  const addMs = (ms: number) => new Date(now.getTime() + ms)
  const isRunning = misses < MAX_MISSES && items.some(({ state }) => !OVER.has(state))
  const unknownDelay = retryDelay(misses, {
    delays: UNKNOWN_DELAYS_MS,
    thenMs: isRunning ? MAX_DELAY_MS : null,
  })
  if (reason === 'gone' || (reason === 'unknown' && unknownDelay === null)) {
    // At Google, every subscription that ends becomes `EXPIRED`.
    const isOver = items.length > 0 && items.every(({ state }) => state === 'EXPIRED')
    const goneAt = isOver ? null : now
    return { dueAt: null, goneAt, sealedToken: '', unacknowledgedSince: null }
  }
  if (reason === 'unknown') return { dueAt: addMs(unknownDelay ?? 0), misses: misses + 1 }
  if (reason === 'limited') return {}
  // Google may refuse the account for one app only: let the purchases of other apps go first.
  if (reason === 'refused_key')
    return { dueAt: addMs(GENERAL_DELAY_MS), attempts: Math.max(attempts, 1) }
  // The whole queue pauses while Google cannot be reached.
  const isGeneral = reason === 'busy' || reason === 'unreachable'
  const delay = retryDelay(attempts, RETRIES)
  return {
    dueAt: addMs(isGeneral ? Math.min(delay, GENERAL_DELAY_MS) : delay),
    attempts: attempts + 1,
  }
}

function findEnd({ items }: PlayAnswer): number | null {
  const ends = items.flatMap(({ endsAt }) => endsAt ?? [])
  return ends.length === 0 ? null : Math.max(...ends)
}
