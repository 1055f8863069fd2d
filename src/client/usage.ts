import type { LimitUsage } from './models.ts'
import type { CallOptions } from './shared-types.ts'

/** Usage of the plan's limits. */
export type UsageFunctions = {
  /** Returns every limit of the user's plan, and how much of it is used in the current period. */
  readUsage: (options?: CallOptions) => Promise<LimitUsage[]>
}
