import type { CallOptions } from './shared-types.ts'

/** What the user has used of a limit of the plan. */
export type LimitUsage = {
  /** The name of the limit, such as `aiMonthlyCreditLimit`. */
  name: string
  /** `month`, `day`, `total` … */
  period: string
  used: number
  /** Null: unlimited. */
  limit: number | null
  remaining: number | null
  /** When the next period begins, ISO 8601; null if it never does. */
  resetsAt: string | null
}

/** What the user has used, as part of a data export. `since`: a month, or the first day of the last period. */
export type UsageExport = { usage: { name: string; since: string; used: number }[] }

/** Usage of the plan's limits. */
export type UsageFunctions = {
  /** Returns every limit of the user's plan, and how much of it is used in the current period. */
  readUsage: (options?: CallOptions) => Promise<LimitUsage[]>
}
