import { attachmentTimers } from './features/attachments/timers.ts'
import { billingTimers } from './features/billing/timers.ts'
import { peopleTimers } from './features/people/timers.ts'
import { rateTimers } from './features/rates/timers.ts'
import type { Timer } from './lib/timer.ts'
import type { Services } from './services.ts'

/** Everything that runs by itself, one line a feature. */
export function timersOf(services: Services): Timer[] {
  const { keys, limits, replays } = services
  return [
    ...peopleTimers(services),
    ...attachmentTimers(services),
    ...billingTimers(services),
    ...rateTimers(services),
    { name: 'sealed requests', schedule: ['*/10 * * * *'], run: replays.sweep },
    { name: 'old encryption keys', schedule: ['5 * * * *'], run: keys.sweep },
    { name: 'old limits', schedule: ['30 3 * * *'], run: limits.sweep },
  ]
}
