import type { PricingPlan } from '../../models.ts'
import type { HandlersFor } from '../operations.ts'
import { iso, type State, type User, type UserReference } from '../state.ts'
import { LIMIT_NAMES } from './content.ts'
import type { Purchases } from './purchases.ts'

const DAY_MS = 86_400_000
/** The standard limits that count without a period. */
const TOTALS: string[] = LIMIT_NAMES.filter((name) => !/^a(pi|i)/.test(name))

/** The use of the limits of the user's plan. */
export function createUsage(state: State, { planOf, currentPurchase }: Purchases) {
  const { find, clock, resolve } = state
  const handlers: HandlersFor<'readUsage'> = { readUsage: (_input, { userId }) => read(userId) }
  return { handlers, setUsage, exportOf }

  /** Sets what the user has used in the current periods, by the names of the limits. */
  function setUsage(reference: UserReference, amounts: Record<string, number>) {
    const user = resolve(reference)
    for (const [name, used] of Object.entries(amounts)) {
      const { startsAt } = periodAt(periodOf(planOf(user), name), user)
      user.used = user.used.filter((one) => one.name !== name || one.startsAt !== startsAt)
      user.used.push({ name, startsAt, used })
    }
  }

  function read(userId: string) {
    const user = find(userId)
    const plan = planOf(user)
    return Object.entries(plan?.limits ?? {}).map(([name, limit]) => {
      const period = periodOf(plan, name)
      const { startsAt, endsAt } = periodAt(period, user)
      const isCurrent = (one: User['used'][number]) =>
        one.name === name && one.startsAt === startsAt
      const used = user.used.find(isCurrent)?.used ?? 0
      const remaining = limit === null ? null : Math.max(0, limit - used)
      return { name, period, used, limit, remaining, resetsAt: iso(endsAt) }
    })
  }

  function exportOf({ used }: User) {
    return used.map(({ name, startsAt, used }) => {
      return { name, since: new Date(startsAt).toISOString().slice(0, 10), used }
    })
  }

  /** The current period of a limit. Months begin on the purchase's renewal day, else with the calendar month. */
  function periodAt(period: string, user: User): { startsAt: number; endsAt: number | null } {
    if (period === 'total') return { startsAt: 0, endsAt: null }
    const { now } = clock
    const today = Math.floor(now / DAY_MS) * DAY_MS
    if (period === 'day') return { startsAt: today, endsAt: today + DAY_MS }
    const first = new Date(currentPurchase(user)?.purchasedAt ?? 0)
    const at = new Date(now)
    let months = (at.getUTCFullYear() - first.getUTCFullYear()) * 12
    months += at.getUTCMonth() - first.getUTCMonth()
    if (addMonths(first, months) > now) months--
    return { startsAt: addMonths(first, months), endsAt: addMonths(first, months + 1) }
  }
}

function periodOf(plan: PricingPlan | null, name: string): string {
  return TOTALS.includes(name) ? 'total' : (plan?.limitPeriods?.[name] ?? 'month')
}

/** Midnight of the same day of a later month, or of the last day of that month. */
function addMonths(day: Date, months: number): number {
  const [year, month] = [day.getUTCFullYear(), day.getUTCMonth() + months]
  const lastDay = new Date(Date.UTC(year, month + 1, 0)).getUTCDate()
  return Date.UTC(year, month, Math.min(day.getUTCDate(), lastDay))
}
