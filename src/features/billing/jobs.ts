import { type Job, pause } from '../../platform/jobs/jobs.ts'
import type { AccessStates } from './access/access-states.ts'
import type { Counting } from './business/counting.ts'
import type { EventFolding } from './inbox/event-folding.ts'
import type { SignedRecords } from './inbox/signed-records.ts'
import type { Transactions } from './inbox/transactions.ts'
import type { createLatestTimes } from './projection/latest-times.ts'
import type { Reconcile } from './provider/reconcile.ts'

export const RETRY_OF_FAILED_EVENTS = 'failed billing events'
/** The job runs hourly, so every purchase is checked once a day. */
const SHARE_PER_RUN = 1 / 24

type BillingJobsDeps = {
  eventFolding: Pick<EventFolding, 'retryFailed'>
  reconcile: Reconcile | null
  accessStates: Pick<AccessStates, 'announceDue' | 'followPlans' | 'compareAgain'>
  transactions: Pick<Transactions, 'backfill'>
  latestTimes: ReturnType<typeof createLatestTimes>
  signedRecords: Pick<SignedRecords, 'clearOld'>
  counting: Pick<Counting, 'run' | 'recheck'>
  clearOldTelemetry: (signal: AbortSignal) => Promise<void>
}

export function billingJobs(deps: BillingJobsDeps): Job[] {
  const { eventFolding, reconcile, signedRecords, clearOldTelemetry, accessStates } = deps
  const { transactions, latestTimes, counting } = deps
  return [
    ...(reconcile ? [reconcileJob(reconcile)] : []),
    {
      name: RETRY_OF_FAILED_EVENTS,
      schedule: ['*/10 * * * *'],
      run: async (signal) => void (await eventFolding.retryFailed(signal)),
    },
    {
      name: 'expired access',
      schedule: ['* * * * *'],
      run: (signal) => announceEvery20Seconds(accessStates, signal),
      isDueAtStart: async () => true,
    },
    {
      name: 'access after plan changes',
      schedule: ['* * * * *'],
      run: accessStates.followPlans,
      isDueAtStart: async () => true,
    },
    {
      name: 'access after the clock was ahead',
      schedule: [],
      run: accessStates.compareAgain,
      runsAfterSetBack: true,
    },
    {
      name: 'transaction index',
      schedule: ['37 4 * * *'],
      run: transactions.backfill,
      isDueAtStart: async () => true,
    },
    {
      name: 'times of purchases',
      schedule: ['42 4 * * *'],
      run: latestTimes.backfill,
      isDueAtStart: async () => true,
    },
    {
      name: 'business figures',
      schedule: ['* * * * *'],
      run: counting.run,
      isDueAtStart: async () => true,
    },
    {
      name: 'business figures, last days',
      schedule: ['57 4 * * *'],
      run: counting.recheck,
    },
    {
      name: 'billing telemetry',
      schedule: ['50 3 * * *'],
      run: clearOldTelemetry,
      deletesByAge: true,
    },
    {
      name: 'store evidence',
      schedule: ['20 3 * * *'],
      run: signedRecords.clearOld,
      deletesByAge: true,
    },
  ]
}

/** Three times a minute, so that other servers soon learn when access ends. */
async function announceEvery20Seconds(
  { announceDue }: Pick<AccessStates, 'announceDue'>,
  signal: AbortSignal,
) {
  for (const wait of [0, 20_000, 20_000]) {
    await pause(wait, signal)
    await announceDue(signal)
  }
}

function reconcileJob({ reconcileOverdue }: Reconcile): Job {
  return {
    name: 'reconcile',
    schedule: ['35 * * * *'],
    run: async (signal) => void (await reconcileOverdue(signal, SHARE_PER_RUN)),
  }
}
