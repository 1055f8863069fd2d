import type { Job } from '../../lib/jobs.ts'
import type { Billing } from './inbox/event-inbox.ts'
import type { Backlog } from './projection/backlog.ts'
import type { Reconcile } from './provider/reconcile.ts'

/** An hourly run, so every purchase is checked once a day. */
const SHARE_PER_RUN = 1 / 24

type BillingJobsDeps = {
  billing: Billing
  backlog: Backlog
  /** Null without an API key. */
  reconcile: Reconcile | null
}

export function billingJobs({ billing, backlog, reconcile }: BillingJobsDeps): Job[] {
  return [
    ...(reconcile ? [reconcileJob(reconcile)] : []),
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
    {
      name: 'billing telemetry',
      schedule: ['50 3 * * *'],
      run: billing.clearOldTelemetry,
      deletesByAge: true,
    },
  ]
}

function reconcileJob({ reconcileOverdue }: Reconcile): Job {
  return {
    name: 'reconcile',
    schedule: ['35 * * * *'],
    run: async (signal) => void (await reconcileOverdue(signal, SHARE_PER_RUN)),
  }
}
