/** The periods of a plan's limits: per month, per day, or in total. */
export const LIMIT_PERIODS = ['month', 'day', 'total'] as const
export type LimitPeriod = (typeof LIMIT_PERIODS)[number]

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

/** The standard limits of a plan, by name. */
export type StandardLimits = Record<keyof typeof STANDARD_PERIODS, number>

/** The standard limits among the fields of a plan. */
export function listStandardLimits(plan: StandardLimits): StandardLimits {
  const entries = STANDARD_LIMITS.map((name) => [name, plan[name]])
  return Object.fromEntries(entries) as StandardLimits
}

export const STANDARD_LIMITS = Object.keys(STANDARD_PERIODS) as (keyof StandardLimits)[]

/** The limits of a plan, standard and custom. */
type Limits = StandardLimits & { limits?: Record<string, number | null> }
export type PlanWithLimits = Limits & { limitPeriods?: Record<string, LimitPeriod> }

/** All limits of a plan by name, standard and custom; null: unlimited. */
export function limitsByName(plan: Limits): Record<string, number | null> {
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
  const formatPeriod = (name: string) =>
    (Object.hasOwn(limitPeriods, name) && limitPeriods[name]) || 'month'
  const own = Object.keys(limits).map((name) => [name, formatPeriod(name)])
  return { ...Object.fromEntries(own), ...STANDARD_PERIODS } as Record<string, LimitPeriod>
}
