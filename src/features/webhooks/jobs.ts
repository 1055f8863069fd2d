import type { Job } from '../../platform/jobs/jobs.ts'
import type { Webhooks } from './webhooks.ts'

export function webhookJobs({ wake, retryAll, retention }: Webhooks): Job[] {
  return [
    {
      name: 'webhook deliveries',
      schedule: ['* * * * *'],
      // The job ends at once, because a server that stops waits for its jobs.
      run: wake,
      isDueAtStart: async () => true,
      runsOnEveryInstance: true,
    },
    {
      name: 'webhooks after the clock was ahead',
      schedule: [],
      run: retryAll,
      runsAfterSetBack: true,
    },
    {
      name: 'old webhook messages',
      schedule: ['50 3 * * *'],
      run: retention.clearOld,
      deletesByAge: true,
    },
  ]
}
