import { findPlanLimits, periodAt } from '../../../lib/time/limit-period.ts'
import type { LimitPeriod } from '../../../lib/time/plan-limits.ts'
import type { Handlers } from '../handler-types.ts'
import type { State, User } from '../state.ts'
import type { UserReference } from '../types.ts'
import type { Purchases } from './purchases.ts'

export function createUsage({ find, clock, resolve, mergers }: State, purchases: Purchases) {
  /** The usage of each user, by the limit's name and the start of the period. */
  const used = new WeakMap<User, Map<string, number>>()
  mergers.push((guest, user) => {
    for (const [key, amount] of used.get(guest) ?? [])
      setUsed(user, key, findUsed(user, key) + amount)
  })
  const handlers = {
    readUsage(_input, { userId }) {
      const user = find(userId)
      return listLimits(user).map(({ name, period, limit }) => {
        const { key, resetsAt } = findPeriod(user, name, period)
        const amount = findUsed(user, key)
        const remaining = limit === null ? null : Math.max(0, limit - amount)
        return { name, period, used: amount, limit, remaining, resetsAt }
      })
    },
  } satisfies Partial<Handlers>
  return { handlers, setUsage }

  /** Sets the user's usage in the current periods, by the names of the limits. */
  function setUsage(reference: UserReference, amounts: Record<string, number>) {
    const user = resolve(reference)
    const periods = new Map(listLimits(user).map(({ name, period }) => [name, period]))
    for (const [name, amount] of Object.entries(amounts))
      setUsed(user, findPeriod(user, name, periods.get(name) ?? 'month').key, amount)
  }

  function findUsed(user: User, key: string): number {
    return used.get(user)?.get(key) ?? 0
  }

  function setUsed(user: User, key: string, amount: number) {
    used.set(user, new Map(used.get(user)).set(key, amount))
  }

  function listLimits(user: User) {
    const plan = purchases.findPlan(user)
    return plan ? findPlanLimits(plan as Parameters<typeof findPlanLimits>[0]) : []
  }

  /** The current period of a limit: the key of its usage, and when the next period begins. */
  function findPeriod(user: User, name: string, period: LimitPeriod) {
    const renewal = purchases.findRenewal(user)
    const { startsAt, endsAt } = periodAt(period, new Date(clock.now), renewal)
    return { key: `${name} ${startsAt.getTime()}`, resetsAt: endsAt?.toISOString() ?? null }
  }
}
