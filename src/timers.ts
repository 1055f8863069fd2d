import type { Timer } from './lib/timer.ts'
import type { Services } from './services.ts'

const FIVE_MINUTES = 5 * 60_000

/** Everything that runs by itself. */
export function timersOf(services: Services): Timer[] {
  const { attachments, auth, backlog, billing, config, keys, limits, rates, reconcile, replays } =
    services
  const { retries, staging } = services
  const refreshing = {
    name: 'rates',
    schedule: ['15,45 14-17 * * MON-FRI', '20 6 * * *'],
    run: rates.refreshWithRetries,
    isDueAtStart: rates.isDue,
    jitter: FIVE_MINUTES,
  }
  return [
    ...(config.ratesProvider === 'off' ? [] : [refreshing]),
    ...(reconcile ? [reconciling(reconcile)] : []),
    {
      name: 'outbox',
      schedule: ['* * * * *'],
      run: auth.outbox.flush,
      isDueAtStart: async () => true,
    },
    { name: 'idle guests', schedule: ['40 3 * * *'], run: auth.guests.sweep },
    { name: 'ended sessions', schedule: ['20 3 * * *'], run: auth.sessions.sweep },
    { name: 'spent tokens', schedule: ['25 3 * * *'], run: auth.oneTimeTokens.sweep },
    { name: 'sealed requests', schedule: ['*/10 * * * *'], run: replays.sweep },
    { name: 'old encryption keys', schedule: ['5 * * * *'], run: keys.sweep },
    { name: 'old limits', schedule: ['30 3 * * *'], run: limits.sweep },
    {
      name: 'failed billing events',
      schedule: ['*/10 * * * *'],
      run: async (signal) => void (await billing.retryFailed(signal)),
    },
    {
      name: 'billing backlog',
      schedule: ['*/10 * * * *'],
      run: backlog.drain,
      isDueAtStart: async () => true,
    },
    { name: 'billing telemetry', schedule: ['50 3 * * *'], run: billing.forgetTelemetry },
    { name: 'upload retries', schedule: ['45 3 * * *'], run: retries.sweep },
    { name: 'orphaned files', schedule: ['17 * * * *'], run: attachments.collectOrphans },
    { name: 'abandoned uploads', schedule: ['7 * * * *'], run: () => staging.sweep(new Date()) },
  ]
}

function reconciling({ overdue }: NonNullable<Services['reconcile']>): Timer {
  return {
    name: 'reconcile',
    schedule: ['35 4 * * *'],
    run: async (signal) => void (await overdue(signal)),
  }
}
