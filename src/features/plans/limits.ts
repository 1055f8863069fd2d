import {
  type LimitPeriod,
  listStandardLimits,
  STANDARD_PERIODS,
  type StandardLimits,
} from '../../lib/text/plan-limits.ts'

/** The limits of a plan, standard and custom. */
type PlanWithLimits = StandardLimits & {
  limits?: Record<string, number | null>
  limitPeriods?: Record<string, LimitPeriod>
}

/** All limits of a plan by name, standard and custom; null: unlimited. */
export function limitsByName(plan: PlanWithLimits): Record<string, number | null> {
  return { ...listStandardLimits(plan), ...plan.limits }
}

/** All limits of a plan with their periods. */
export function findPlanLimits(plan: PlanWithLimits) {
  const periods = periodsByName(plan)
  return Object.entries(limitsByName(plan)).map(([name, limit]) => {
    return { name, period: periods[name] ?? ('month' as const), limit }
  })
}

/** The periods of all limits of a plan, by name. Plans in replies list every limit in `limits`. */
export function periodsByName({ limits = {}, limitPeriods = {} }: PlanWithLimits) {
  // A limit may have the name of an inherited member, such as `constructor`.
  const periodOf = (name: string) =>
    (Object.hasOwn(limitPeriods, name) && limitPeriods[name]) || 'month'
  const own = Object.keys(limits).map((name) => [name, periodOf(name)])
  return { ...Object.fromEntries(own), ...STANDARD_PERIODS } as Record<string, LimitPeriod>
}
