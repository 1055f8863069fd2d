import { DELIVERY_CODES, WEBHOOK_PATH } from '../features/billing/model.ts'
import { APP_STORE_PATH, PLAY_PATH } from '../features/stores/model.ts'
import { DENIAL_REASONS } from '../lib/errors.ts'
import { describeExamples } from '../lib/example-content.ts'
import { CONSOLE_API } from '../platform/http/console-guard.ts'
import type { Requester } from '../platform/http/request/request-log.ts'
import { createMetrics, type RequestLabels } from '../platform/metrics/registry.ts'
import type { HistoryDb } from '../platform/metrics/schema.ts'
import { createSlowest } from '../platform/metrics/slowest.ts'
import { createRecorder } from '../platform/metrics/snapshots.ts'
import type { MonitoringDeps } from './monitored.ts'
import { createReadiness } from './readiness.ts'
import { createReadings } from './readings.ts'
import { createStatus } from './status.ts'

/** The billing provider's last accepted and last refused delivery; each is null until there is one. */
export type DeliveryRecord = {
  acceptedAt: string | null
  refused: { at: string; status: number; code: string } | null
}

/** Readiness, status and metrics of the service, and the history of its traffic. */
export function createMonitoring(deps: MonitoringDeps & { db: HistoryDb }) {
  const { config, db, host, now } = deps
  const { readiness, faults } = createReadiness(deps)
  const deliveries: DeliveryRecord = { acceptedAt: null, refused: null }
  const recorder = createRecorder({
    db,
    countWrites: () => db.writeStats().changes,
    instance: config.instance ?? '',
    version: deps.version,
    servingSince: deps.servingSince,
    now,
  })
  const status = createStatus({ ...deps, endpoints: recorder.tallies.list }, readiness)
  const slowest = createSlowest(now)
  const readings = createReadings(deps, readiness)
  const { observeRequest, createCounter, render, read } = createMetrics(readings, config.instance)
  const countDenial = createCounter(
    'homeport_denials_total',
    'Requests answered with 401, by reason',
    'reason',
    DENIAL_REASONS,
  )
  const countReply = createCounter(
    'homeport_http_replies_total',
    'Replies, by status class',
    'class',
    ['1xx', '2xx', '3xx', '4xx', '5xx'],
  )
  const countDelivery = createCounter(
    'homeport_billing_deliveries_total',
    'Deliveries from the billing provider, by reply code',
    'code',
    [...DELIVERY_CODES, 'stray'],
  )
  const countNotification = createCounter(
    'homeport_app_store_deliveries_total',
    'Notifications from the App Store, by reply code',
    'code',
    [...DELIVERY_CODES, 'stray', 'forbidden'],
  )
  const countPush = createCounter(
    'homeport_play_deliveries_total',
    'Notifications from Google Play, by reply code',
    'code',
    [...DELIVERY_CODES, 'stray'],
  )
  const metrics = { observeRequest: observe, countDenial, render, read }
  return { metrics, recorder, slowest, readiness, status, serverState }

  function observe(labels: RequestLabels, seconds: number, { id, userId, isStray }: Requester) {
    const { method, route, status } = labels
    const code = isStray && status >= 400 ? 'stray' : labels.code
    // All unknown paths count as one, whatever their method.
    const name = route === 'none' ? route : `${method} ${route}`
    const isEvent = route === WEBHOOK_PATH
    if (route === APP_STORE_PATH) countNotification(code)
    if (route === PLAY_PATH) countPush(code)
    observeRequest(labels, seconds)
    // What a stranger sends to a webhook that is not set up is no error of the server.
    const isUnused = labels.code === 'webhook_not_configured'
    countReply(isUnused ? '4xx' : `${Math.floor(status / 100)}xx`)
    recorder.observe({ name, seconds, status, isEvent })
    slowest.add({
      name,
      status,
      ms: seconds * 1000,
      at: now().getTime(),
      requestId: id,
      // In the console the user is an operator.
      userId: route.startsWith(CONSOLE_API) ? null : userId,
    })
    if (!isEvent) return
    countDelivery(code)
    const at = now().toISOString()
    if (status === 200) deliveries.acceptedAt = at
    else if (code !== 'stray') deliveries.refused = { at, status, code }
  }

  /** The state that `doctor` requests from a running server. */
  async function serverState() {
    return {
      ready: await readiness(),
      faults: faults(),
      ...(await host.backup()),
      delivery: deliveries,
      storeProblem: await deps.storeOwner.describe().catch(() => null),
      failedWebhooks: await deps.webhooks.health.listFailed(),
      unconverted: (await deps.figures.read({})).unconverted,
      settingWarnings: [...(await deps.settings.warn()), ...(await deps.plans.warn())],
      examples: describeExamples(await deps.settings.read(), await deps.plans.list()),
    }
  }
}
