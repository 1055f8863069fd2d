import type { Job } from '../../platform/jobs/jobs.ts'
import type { Stores } from './stores.ts'

export function storeJobs(stores: Stores): Job[] {
  return [...appleJobs(stores), ...playJobs(stores), ...stripeJobs(stores)]
}

function stripeJobs({ stripe }: Stores): Job[] {
  if (stripe === null) return []
  return [
    {
      name: 'Stripe events',
      schedule: ['35 * * * *'],
      run: async (signal) => {
        for (const environment of ['PRODUCTION', 'SANDBOX'] as const)
          await stripe.catchUp(environment, signal)
        if (stripe.hasKey('production')) await stripe.prices.findProblems()
      },
      isDueAtStart: async () => true,
    },
  ]
}

function playJobs({ play, pendingClaims }: Stores): Job[] {
  if (play === null) return []
  return [
    {
      name: 'Google Play refunds',
      schedule: ['25 */6 * * *'],
      run: async (signal) => void (await play.voided.catchUp(signal)),
      isDueAtStart: async () => true,
    },
    {
      name: 'unconfirmed purchases',
      schedule: ['40 3 * * *'],
      run: pendingClaims.clearOld,
      deletesByAge: true,
    },
  ]
}

function appleJobs({ history }: Stores): Job[] {
  if (history === null) return []
  return [
    {
      name: 'App Store history',
      schedule: ['15 * * * *'],
      run: async (signal) => void (await history.catchUp('PRODUCTION', { signal })),
      // Notifications may have been lost while the server was down, or by restoring a backup.
      isDueAtStart: async () => true,
    },
    {
      name: 'App Store sandbox history',
      schedule: ['45 */6 * * *'],
      run: async (signal) => void (await history.catchUp('SANDBOX', { signal })),
    },
  ]
}
