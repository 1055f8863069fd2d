import { MINUTE_MS } from '../../lib/time/durations.ts'
import type { Job } from '../../platform/jobs/jobs.ts'
import type { Rates } from './service.ts'

const MAX_JITTER_MS = 5 * MINUTE_MS

/** Empty if refreshing is off. */
export function rateJobs({ rates }: { rates: Rates }): Job[] {
  if (!rates.isRefreshed) return []
  return [
    {
      name: 'rates',
      schedule: ['15,45 14-17 * * MON-FRI', '20 6 * * *'],
      run: rates.refreshWithRetries,
      isDueAtStart: rates.isDue,
      jitter: MAX_JITTER_MS,
    },
  ]
}
