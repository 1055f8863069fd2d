/** The periods of a plan's limits: per month, per day, or in total. */
export const LIMIT_PERIODS = ['month', 'day', 'total'] as const
export type LimitPeriod = (typeof LIMIT_PERIODS)[number]

/** The standard limits, which every plan has, with their periods. */
export const STANDARD_PERIODS = {
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
