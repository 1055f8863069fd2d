import type { Config } from '../config.ts'
import type { OpenDb } from '../db/db.ts'
import { WEBHOOK_PATH } from '../features/billing/model.ts'
import { createRecorder } from '../history/recorder.ts'
import type { HistoryDb } from '../history/schema.ts'
import type { Log } from '../lib/log.ts'
import { createMetrics, type RequestLabels } from '../lib/metrics.ts'
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
  /** Null where TLS is somebody else's. */
  areCertificatesFailing: (() => boolean) | null
  /** When the newest backup was written; null without one. */
  newestBackupAt: () => Promise<Date | null>
  now: () => Date
  log: Log
}

/** All that tells how the service is: readiness, status, metrics, and the history of both. */
export function createMonitoring(deps: MonitoringDeps) {
  const { config, db, billing, outbox, rates, imageQueue, newestBackupAt, now, log } = deps
  const ratesUpdatedAt = async () => (await rates.read()).updatedAt
  const readiness = createReadiness({
    isWritable: db.isWritable,
    probeStorage: deps.probeStorage,
    isImageWorkerFailing: imageQueue.isFailing,
    areRatesStale: rates.isStale,
    areCertificatesFailing: deps.areCertificatesFailing,
    instance: config.instance,
    log,
  })
  const status = createStatus({
    version: deps.version,
    servingSince: deps.servingSince,
    dataDir: config.dataDir,
    db,
    countPeople: deps.people.count,
    countEvents: billing.count,
    countWaiting: outbox.count,
    ratesUpdatedAt,
    readiness,
    now,
  })
  const recorder = createRecorder({
    db,
    countWrites: () => db.writeStats().changes,
    instance: config.instance ?? '',
    now,
  })
  const { observeRequest, countDenial, render } = createMetrics(
    createReadings({
      dataDir: config.dataDir,
      writeStats: db.writeStats,
      countUnfinishedPictures: imageQueue.countUnfinished,
      countFailedEvents: billing.countFailed,
      countWaitingMails: outbox.count,
      ratesUpdatedAt,
      areRatesOn: rates.isStale !== null,
      newestBackupAt,
      now,
    }),
    config.instance,
  )
  const metrics = { observeRequest: observe, countDenial, render }
  return { metrics, recorder, readiness, status }

  function observe(labels: RequestLabels, seconds: number) {
    observeRequest(labels, seconds)
    recorder.observe({ seconds, status: labels.status, isEvent: labels.route === WEBHOOK_PATH })
  }
}
