import type { Timer } from '../../lib/timer.ts'
import type { Rates } from './service.ts'

const FIVE_MINUTES = 5 * 60_000

/** Empty if refreshing is off. */
export function rateJobs({ rates }: { rates: Rates }): Timer[] {
  if (!rates.isRefreshed) return []
  return [
    {
      name: 'rates',
      schedule: ['15,45 14-17 * * MON-FRI', '20 6 * * *'],
      run: rates.refreshWithRetries,
      isDueAtStart: rates.isDue,
      jitter: FIVE_MINUTES,
    },
  ]
}
