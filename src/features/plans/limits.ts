import type { LimitPeriod } from '../../lib/limit-periods.ts'

/** The standard limits, which every plan has, with their periods. */
const STANDARD_PERIODS = {
  seatLimit: 'total',
  appLimit: 'total',
  keywordLimit: 'total',
  apiRequestLimit: 'month',
  competitorLimitPerApp: 'total',
  aiMonthlyCreditLimit: 'month',
  storefrontLimit: 'total',
} as const satisfies Record<string, LimitPeriod>

type StandardLimit = keyof typeof STANDARD_PERIODS
/** The limits of a plan, standard and custom. */
type PlanWithLimits = Record<StandardLimit, number> & {
  limits?: Record<string, number | null>
  limitPeriods?: Record<string, LimitPeriod>
}

export const STANDARD_LIMITS = Object.keys(STANDARD_PERIODS) as StandardLimit[]

/** All limits of a plan by name, standard and custom; null: unlimited. */
export function limitsByName(plan: PlanWithLimits): Record<string, number | null> {
  return {
    ...Object.fromEntries(STANDARD_LIMITS.map((name) => [name, plan[name]])),
    ...plan.limits,
  }
}

/** All limits of a plan with their periods. */
export function planLimitsOf(plan: PlanWithLimits) {
  const periods = periodsByName(plan)
  return Object.entries(limitsByName(plan)).map(([name, limit]) => {
    return { name, period: periods[name] ?? ('month' as const), limit }
  })
}

/** The periods of all limits of a plan, by name. Plans in replies list every limit in `limits`. */
export function periodsByName({ limits = {}, limitPeriods = {} }: PlanWithLimits) {
  const own = Object.keys(limits).map((name) => [name, limitPeriods[name] ?? 'month'])
  return { ...Object.fromEntries(own), ...STANDARD_PERIODS } as Record<string, LimitPeriod>
}
