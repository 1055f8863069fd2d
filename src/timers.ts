import type { Timer } from './lib/timer.ts'
import type { Services } from './services.ts'

const FIVE_MINUTES = 5 * 60_000

/** Everything that runs by itself. */
export function timersOf({ rates, files }: Services): Timer[] {
  return [
    {
      name: 'rates',
      schedule: ['15,45 14-17 * * MON-FRI', '20 6 * * *'],
      run: rates.refreshWithRetries,
      isDueAtStart: rates.isDue,
      jitter: FIVE_MINUTES,
    },
    { name: 'abandoned uploads', schedule: ['7 * * * *'], run: () => files.sweep(new Date()) },
  ]
}
