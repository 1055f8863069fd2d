import { type Job, pause } from '../../platform/jobs/jobs.ts'
import type { Stores } from '../stores/stores.ts'
import type { AccessStates } from './access/access-states.ts'
import type { Counting } from './business/counting.ts'
import type { EventFolding } from './inbox/event-folding.ts'
import type { Evidence } from './inbox/signed-records.ts'
import type { Transactions } from './inbox/transactions.ts'
import type { Backlog } from './projection/backlog.ts'
import type { Reconcile } from './provider/reconcile.ts'

export const RETRY_OF_FAILED_EVENTS = 'failed billing events'
/** The job runs hourly, so every purchase is checked once a day. */
const SHARE_PER_RUN = 1 / 24

type BillingJobsDeps = {
  eventFolding: Pick<EventFolding, 'retryFailed'>
  backlog: Backlog
  /** Null without an API key. */
  reconcile: Reconcile | null
  stores: Stores
  accessStates: Pick<AccessStates, 'announceDue' | 'followPlans' | 'compareAgain'>
  transactions: Pick<Transactions, 'backfill'>
  evidence: Pick<Evidence, 'clearOld'>
  counting: Pick<Counting, 'run' | 'recheck'>
  clearOldTelemetry: (signal: AbortSignal) => Promise<void>
}

export function billingJobs(deps: BillingJobsDeps): Job[] {
  const { eventFolding, backlog, reconcile, stores, evidence, clearOldTelemetry, accessStates } =
    deps
  const { transactions, counting } = deps
  return [
    ...(reconcile ? [reconcileJob(reconcile)] : []),
    ...storeJobs(stores),
    ...playJobs(stores),
    {
      name: RETRY_OF_FAILED_EVENTS,
      schedule: ['*/10 * * * *'],
      run: async (signal) => void (await eventFolding.retryFailed(signal)),
    },
    {
      name: 'billing backlog',
      schedule: ['*/10 * * * *'],
      run: backlog.drain,
      isDueAtStart: async () => true,
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
      run: evidence.clearOld,
      deletesByAge: true,
    },
  ]
}

/** Three times a minute, so that other servers hear of an end of access soon. */
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

function playJobs({ play, pendingClaims }: Stores): Job[] {
  if (play === null) return []
  return [
    {
      name: 'Google Play purchases',
      schedule: ['* * * * *'],
      run: play.queue.drain,
      isDueAtStart: async () => true,
    },
    {
      name: 'Google Play after the clock was ahead',
      schedule: [],
      run: play.purchases.repairTimes,
      runsAfterSetBack: true,
    },
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

function storeJobs({ history, overdue }: Stores): Job[] {
  if (history === null || overdue === null) return []
  return [
    {
      name: 'store checks',
      schedule: ['*/5 * * * *'],
      run: overdue.checkDue,
    },
    {
      name: 'App Store history',
      schedule: ['15 * * * *'],
      run: async (signal) => void (await history.catchUp('PRODUCTION', { signal })),
      // Notifications may have been lost while the server was down, or with a backup.
      isDueAtStart: async () => true,
    },
    {
      name: 'App Store sandbox history',
      schedule: ['45 */6 * * *'],
      run: async (signal) => void (await history.catchUp('SANDBOX', { signal })),
    },
  ]
}
