import type { Job } from '../../lib/jobs.ts'
import type { Webhooks } from './webhooks.ts'

export function webhookJobs({ wake, retention }: Webhooks): Job[] {
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
      name: 'old webhook messages',
      schedule: ['50 3 * * *'],
      run: retention.clearOld,
      deletesByAge: true,
    },
  ]
}
