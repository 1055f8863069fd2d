/** The periods of a plan's limits: per month, per day, or in all. */
export const LIMIT_PERIODS = ['month', 'day', 'total'] as const
export type LimitPeriod = (typeof LIMIT_PERIODS)[number]
