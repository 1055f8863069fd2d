import type { Log } from '../../lib/log.ts'
import type { Reader } from '../../platform/db/db.ts'
import { createUnmatchedList, createUnmatchedReport } from './access/plan-matching.ts'
import { createSubscription, type PlanLike } from './access/subscription.ts'
import { createTimeline } from './access/timeline.ts'
import { createErasure } from './inbox/erasure.ts'
import { createBilling } from './inbox/event-inbox.ts'
import { createEventLog } from './inbox/event-log.ts'
import { createEventSearch } from './inbox/event-search.ts'
import { createReprocessing } from './inbox/reprocessing.ts'
import { createBacklog } from './projection/backlog.ts'
import type { FoldingSizes } from './projection/checkpoints.ts'
import { createProjection } from './projection/projection.ts'
import { createRebuild } from './projection/rebuild.ts'
import { createReconcile } from './provider/reconcile.ts'
import { createSubscriberApi } from './provider/subscriber-api.ts'
import type { BillingDb } from './schema.ts'

type BillingPartsDeps<Plan extends PlanLike> = {
  db: BillingDb
  pseudonymKey: Uint8Array
  ignoresSandbox: boolean
  /** The provider's REST API; without a key it is not called. */
  subscriberApi: { url: string; key: string | null }
  /** The plans, in the best matching language of `wanted`. */
  listPlans: (wanted: string[]) => Promise<{ plans: Plan[]; language: string }>
  /** The `ids` that belong to users. */
  existingUsers: (from: Reader, ids: string[]) => Promise<string[]>
  sizes?: FoldingSizes | undefined
  now: () => Date
  newId: () => string
  log: Log
}

/** Builds the parts of this feature and wires them together. */
export function createBillingParts<Plan extends PlanLike>(deps: BillingPartsDeps<Plan>) {
  const { db, subscriberApi, sizes, log } = deps
  const eventLog = createEventLog(db)
  const projection = createProjection({ db, eventLog, ...(sizes ? { sizes } : {}) })
  const backlog = createBacklog({ db, projection, log })
  const erasure = createErasure({ ...deps, projection, backlog })
  const billing = createBilling({ ...deps, projection, erasure, backlog })
  const eventSearch = createEventSearch(db)
  const reportUnmatched = createUnmatchedReport(log)
  const subscription = createSubscription({ ...deps, projection, reportUnmatched })
  const { url, key } = subscriberApi
  const { recordInternalEvent } = billing
  const readSubscriber = key === null ? null : createSubscriberApi(url, key)
  return {
    projection,
    backlog,
    erasure,
    billing,
    subscription,
    timeline: createTimeline({ ...deps, subscription }),
    eventSearch,
    reprocess: createReprocessing({ billing, eventSearch }),
    listUnmatched: createUnmatchedList(deps),
    rebuildBilling: createRebuild({ db, projection }),
    reconcile: readSubscriber && createReconcile({ ...deps, readSubscriber, recordInternalEvent }),
  }
}
