import type { StoreSettings } from '../../config/subjects/stores.ts'
import type { Log } from '../../lib/log/log.ts'
import { HOUR_MS } from '../../lib/time/durations.ts'
import type { Tx } from '../../platform/db/db.ts'
import type { Registry } from '../../platform/metrics/registry.ts'
import type { ExistingUsers } from '../../platform/user-table.ts'
import { createAccessSearch } from './access/access-search.ts'
import { type AccessChange, createAccessStates } from './access/access-states.ts'
import { createHolders } from './access/holders.ts'
import { createOffers } from './access/offers.ts'
import type { Catalogue } from './access/plan-matching.ts'
import { createSubscription, type PlanLike } from './access/subscription.ts'
import { createTimeline } from './access/timeline.ts'
import type { ReadRates } from './business/conversion.ts'
import { createCounting } from './business/counting.ts'
import { createFigures } from './business/figures.ts'
import { createGrants } from './grants/grants.ts'
import type { Attribution } from './inbox/attribution.ts'
import { createErasure } from './inbox/erasure.ts'
import type { BillingEvent } from './inbox/event.ts'
import { createEventFolding } from './inbox/event-folding.ts'
import { createEventInbox } from './inbox/event-inbox.ts'
import { createEventLog, type EventReaders } from './inbox/event-log.ts'
import { createEventSearch } from './inbox/event-search.ts'
import { createSignedRecords } from './inbox/signed-records.ts'
import { createTelemetryCleanup } from './inbox/telemetry.ts'
import { createTransactions } from './inbox/transactions.ts'
import { createBacklog } from './projection/backlog.ts'
import type { FoldingSizes } from './projection/checkpoints.ts'
import { createLatestTimes } from './projection/latest-times.ts'
import { createProjection } from './projection/projection.ts'
import { createRebuild } from './projection/rebuild.ts'
import { createReconcile } from './provider/reconcile.ts'
import { createSubscriberApi } from './provider/subscriber-api.ts'
import type { BillingDb } from './schema.ts'

export type BillingNeeds<Plan extends PlanLike> = {
  /** In the language that best matches `wanted`. */
  listPlans: (wanted: string[]) => Promise<Catalogue<Plan> & { language: string }>
  existingUsers: ExistingUsers
  isUserWithin: (tx: Tx, id: string) => Promise<boolean>
  /** Runs in the transaction that changes what a user has access to. */
  onAccessChange: (tx: Tx, change: AccessChange) => Promise<void>
  eventReaders: EventReaders
  /** Runs in the transaction that applied an event of a provider. */
  onApplied: (tx: Tx, provider: string, event: BillingEvent) => Promise<void>
  /** The app user id that the purchase's latest claim names; null for none. */
  findClaimant: (purchaseKey: string) => Promise<string | null>
  /** The operator's link of the purchase to its user; null if there is none, or the user has submitted it since. */
  findLink: (purchaseKey: string) => Promise<(Attribution & { id: string; at: string }) | null>
  readRates: ReadRates
  /** Overridden only in tests. */
  countingDelayMs?: number | undefined
  sizes?: FoldingSizes | undefined
}

type BillingPartsDeps<Plan extends PlanLike> = BillingNeeds<Plan> & {
  db: BillingDb
  pseudonymKey: Uint8Array
  ignoresSandbox: boolean
  /** Without a key, the API is not called. */
  subscriberApi: { url: string; key: string | null }
  settings: StoreSettings
  showsSandbox: boolean
  ratesBase: string
  registry: Registry
  now: () => Date
  newId: () => string
  log: Log
}

export function createBillingParts<Plan extends PlanLike>(deps: BillingPartsDeps<Plan>) {
  const { db, subscriberApi, settings, sizes, log } = deps
  const eventLog = createEventLog(db, deps.eventReaders)
  const accessSettings = {
    graceMs: settings.storeGraceHours * HOUR_MS,
    sandboxTesters: new Set(settings.sandboxTesters),
  }
  const holders = createHolders(deps)
  const offers = createOffers(deps)
  const reportUnmatched = offers.report
  const accessStates = createAccessStates({ ...deps, holders, accessSettings, reportUnmatched })
  const counting = createCounting({
    ...deps,
    eventLog,
    onCounted: offers.rememberCounted,
    delayMs: deps.countingDelayMs,
  })
  const projection = createProjection({
    db,
    eventLog,
    onChange: accessStates.compareAtEnd,
    onPurchase: offers.remember,
    onAssigned: counting.markChanged,
    ...(sizes ? { sizes } : {}),
  })
  const backlog = createBacklog({ ...deps, projection })
  const signedRecords = createSignedRecords({ ...deps, days: settings.storeRecordDays })
  const erasure = createErasure({ ...deps, projection, eventLog, backlog, signedRecords })
  const transactions = createTransactions(db, eventLog)
  const eventSearch = createEventSearch({ db, eventLog, transactions, signedRecords })
  const eventFolding = createEventFolding({ db, projection, backlog, eventLog, eventSearch, log })
  const eventInbox = createEventInbox({
    ...deps,
    folding: eventFolding,
    erasure,
    signedRecords,
    transactions,
  })
  const subscription = createSubscription({
    ...deps,
    projection,
    holders,
    accessSettings,
    reportUnmatched,
  })
  const { url, key } = subscriberApi
  const readSubscriber = key === null ? null : createSubscriberApi(url, key)
  return {
    projection,
    accessStates,
    backlog,
    erasure,
    eventInbox,
    eventFolding,
    eventSearch,
    subscription,
    holders,
    accessSettings,
    eventLog,
    signedRecords,
    transactions,
    latestTimes: createLatestTimes(db),
    clearOldTelemetry: createTelemetryCleanup(deps),
    grants: createGrants({ ...deps, eventInbox, subscription }),
    accessSearch: createAccessSearch(db),
    timeline: createTimeline({ ...deps, eventLog, projection, subscription, accessSettings }),
    listUnmatched: offers.listUnmatched,
    counting,
    figures: createFigures({ ...deps, readProgress: counting.readProgress }),
    rebuildBilling: createRebuild({ db, eventLog, projection, transactions, counting }),
    reconcile:
      readSubscriber &&
      createReconcile({
        ...deps,
        ...holders,
        readSubscriber,
        eventInbox,
        transactions,
      }),
  }
}
