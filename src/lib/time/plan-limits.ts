export const LIMIT_PERIODS = ['month', 'day', 'total'] as const
export type LimitPeriod = (typeof LIMIT_PERIODS)[number]

const STANDARD_PERIODS = {
  seatLimit: 'total',
  appLimit: 'total',
  keywordLimit: 'total',
  apiRequestLimit: 'month',
  competitorLimitPerApp: 'total',
  aiMonthlyCreditLimit: 'month',
  storefrontLimit: 'total',
} as const satisfies Record<string, LimitPeriod>

export type StandardLimits = Record<keyof typeof STANDARD_PERIODS, number>

export function listStandardLimits(plan: StandardLimits): StandardLimits {
  const entries = STANDARD_LIMITS.map((name) => [name, plan[name]])
  return Object.fromEntries(entries) as StandardLimits
}

/** Each unit of a purchase has the plan's seats. */
export function withSeats<Plan extends Limits>(plan: Plan, units: number): Plan {
  const seatLimit = plan.seatLimit * units
  // Plans in responses list every limit in `limits`.
  return units === 1 ? plan : { ...plan, seatLimit, limits: { ...plan.limits, seatLimit } }
}

export const STANDARD_LIMITS = Object.keys(STANDARD_PERIODS) as (keyof StandardLimits)[]

type Limits = StandardLimits & { limits?: Record<string, number | null> }
type PlanWithLimits = Limits & { limitPeriods?: Record<string, LimitPeriod> }

/** The limits of a plan by name; null for unlimited. */
export function limitsByName(plan: Limits): Record<string, number | null> {
  return { ...listStandardLimits(plan), ...plan.limits }
}

/** Plans in responses list every limit in `limits`. */
export function periodsByName({ limits = {}, limitPeriods = {} }: PlanWithLimits) {
  // A limit may have the name of an inherited member, such as `constructor`.
  const formatPeriod = (name: string) =>
    (Object.hasOwn(limitPeriods, name) && limitPeriods[name]) || 'month'
  const own = Object.keys(limits).map((name) => [name, formatPeriod(name)])
  return { ...Object.fromEntries(own), ...STANDARD_PERIODS } as Record<string, LimitPeriod>
}
