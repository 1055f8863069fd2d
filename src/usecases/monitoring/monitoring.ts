import type { Config } from '../../config.ts'
import { DELIVERY_CODES, WEBHOOK_PATH } from '../../features/billing/model.ts'
import { DENIAL_REASONS } from '../../lib/errors.ts'
import type { Log } from '../../lib/log.ts'
import { createMetrics, type RequestLabels } from '../../lib/metrics.ts'
import type { OpenDb } from '../../platform/db/db.ts'
import { createRecorder } from '../../platform/history/recorder.ts'
import type { HistoryDb } from '../../platform/history/schema.ts'
import { createDeliveryRecord } from './delivery-record.ts'
import type { HostState } from './host-state.ts'
import { createReadiness } from './readiness.ts'
import { createReadings } from './readings.ts'
import { createStatus } from './status.ts'

type MonitoringDeps = {
  config: Config
  db: OpenDb<unknown> & HistoryDb
  version: string
  servingSince: Date | null
  people: { count: () => Promise<{ users: number; sessions: number }> }
  billing: {
    count: () => Promise<{ events: number; failed: number }>
    countFailed: () => Promise<number>
  }
  outbox: { count: () => Promise<number> }
  /** `isStale` is null when rates are not refreshed. */
  rates: {
    read: () => Promise<{ updatedAt: string }>
    isStale: (() => Promise<boolean>) | null
  }
  /** Throws when nothing can be stored, and says why. */
  probeStorage: () => Promise<void>
  imageQueue: { isFailing: () => boolean; countUnfinished: () => number }
  host: HostState
  now: () => Date
  log: Log
}

/** All that tells how the service is: readiness, status, metrics, and the history of both. */
export function createMonitoring(deps: MonitoringDeps) {
  const { config, db, billing, outbox, rates, imageQueue, host, now, log } = deps
  const ratesUpdatedAt = async () => (await rates.read()).updatedAt
  const readiness = createReadiness({
    isWritable: db.isWritable,
    probeStorage: deps.probeStorage,
    isImageWorkerFailing: imageQueue.isFailing,
    areRatesStale: rates.isStale,
    host,
    instance: config.instance,
    log,
  })
  const status = createStatus({
    version: deps.version,
    servingSince: deps.servingSince,
    dataDir: config.dataDir,
    db,
    countUsers: deps.people.count,
    countEvents: billing.count,
    countWaiting: outbox.count,
    ratesUpdatedAt,
    readiness,
    backup: host.backup,
    now,
  })
  const deliveries = createDeliveryRecord(now)
  const recorder = createRecorder({
    db,
    countWrites: () => db.writeStats().changes,
    instance: config.instance ?? '',
    now,
  })
  const { observeRequest, createCount, render } = createMetrics(
    createReadings({
      dataDir: config.dataDir,
      writeStats: db.writeStats,
      clockSkew: () => db.clockSkew(Date.now),
      countUnfinishedPictures: imageQueue.countUnfinished,
      countFailedEvents: billing.countFailed,
      countWaitingMails: outbox.count,
      ratesUpdatedAt,
      areRatesOn: rates.isStale !== null,
      version: deps.version,
      readiness,
      host,
      now,
    }),
    config.instance,
  )
  const countDenial = createCount(
    'homeport_denials_total',
    'Requests that got 401, by reason',
    'reason',
    DENIAL_REASONS,
  )
  const countReply = createCount(
    'homeport_http_replies_total',
    'Replies, by the class of their status',
    'class',
    ['1xx', '2xx', '3xx', '4xx', '5xx'],
  )
  const countDelivery = createCount(
    'homeport_billing_deliveries_total',
    'Deliveries of the billing provider, by the code of the reply',
    'code',
    DELIVERY_CODES,
  )
  const metrics = { observeRequest: observe, countDenial, render }
  return { metrics, recorder, readiness, status, serverState }

  function observe(labels: RequestLabels, seconds: number) {
    const { route, status, code } = labels
    const isEvent = route === WEBHOOK_PATH
    observeRequest(labels, seconds)
    countReply(`${Math.floor(status / 100)}xx`)
    recorder.observe({ seconds, status, isEvent })
    if (!isEvent) return
    countDelivery(code)
    deliveries.note(status, code)
  }

  /** What `doctor` asks of a server that runs. */
  async function serverState() {
    return { ready: await readiness(), ...(await host.backup()), delivery: deliveries.read() }
  }
}
