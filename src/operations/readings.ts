import { DELIVERY_CODES, WEBHOOK_PATH } from '../features/billing/model.ts'
import { APP_STORE_PATH, PLAY_PATH } from '../features/stores/model.ts'
import { freeSpace } from '../lib/files/free-space.ts'
import { countDroppedLines } from '../lib/log/log-output.ts'
import type { ComponentState, Readiness } from '../platform/http/health.ts'
import { type Metric, type MetricValue, processMetrics } from '../platform/metrics/metrics.ts'
import {
  LIMITS,
  type Registry,
  type RequestSeries,
  startAtZero,
} from '../platform/metrics/registry.ts'
import type { MonitoringDeps } from './monitored.ts'

/** All metrics of `/metrics`. */
export function createReadings(
  deps: MonitoringDeps & { registry: Registry },
  readiness: () => Promise<Readiness>,
): Metric[] {
  const { config, db, registry, rates, host, now } = deps
  const secondsSince = (time: number) => Math.round((now().getTime() - time) / 1000)
  return [
    ...processMetrics,
    {
      name: 'homeport_http_request_duration_seconds',
      help: 'Time from the request to its reply',
      type: 'histogram',
      read: () => registry.requests().flatMap(toValues),
    },
    {
      name: 'homeport_denials_total',
      help: 'Requests answered with 401, by reason',
      label: 'reason',
      type: 'counter',
      read: registry.denials,
    },
    {
      name: 'homeport_http_replies_total',
      help: 'Replies, by status class',
      label: 'class',
      type: 'counter',
      read: () => countReplies(registry),
    },
    {
      name: 'homeport_billing_deliveries_total',
      help: 'Deliveries from the billing provider, by reply code',
      label: 'code',
      type: 'counter',
      read: () => countDeliveries(registry, WEBHOOK_PATH, DELIVERY_CODES),
    },
    {
      name: 'homeport_app_store_deliveries_total',
      help: 'Notifications from the App Store, by reply code',
      label: 'code',
      type: 'counter',
      read: () => countDeliveries(registry, APP_STORE_PATH, [...DELIVERY_CODES, 'forbidden']),
    },
    {
      name: 'homeport_play_deliveries_total',
      help: 'Notifications from Google Play, by reply code',
      label: 'code',
      type: 'counter',
      read: () => countDeliveries(registry, PLAY_PATH, DELIVERY_CODES),
    },
    {
      name: 'homeport_log_lines_dropped_total',
      help: 'Log lines that could not be written: nothing read the output, or its disk was full',
      type: 'counter',
      read: countDroppedLines,
    },
    {
      name: 'homeport_db_changes_waiting',
      help: 'Changes waiting for a commit',
      read: () => db.writeStats().waiting,
    },
    {
      name: 'homeport_db_commits_total',
      help: 'Commits, each with one fsync',
      type: 'counter',
      read: () => db.writeStats().commits,
    },
    {
      name: 'homeport_db_changes_total',
      help: 'Committed changes; divide by the commits for the average batch size',
      type: 'counter',
      read: () => db.writeStats().changes,
    },
    {
      name: 'homeport_clock_skew_seconds',
      help: "How far the clock is ahead of the database server's; absent on SQLite",
      read: async () => {
        const skew = await db.clockSkew(Date.now).catch(() => null)
        return skew === null ? null : skew / 1000
      },
    },
    {
      name: 'homeport_disk_free_bytes',
      help: 'Free space on the disk of DATA_DIR',
      read: async () => (await freeSpace(config.dataDir)).bytes,
    },
    {
      name: 'homeport_disk_free_inodes',
      help: 'Free inodes on the disk of DATA_DIR; absent where there is no limit',
      read: async () => (await freeSpace(config.dataDir)).inodes,
    },
    {
      name: 'homeport_pictures_unfinished',
      help: 'Images waiting or being processed',
      read: deps.imageQueue.countUnfinished,
    },
    {
      name: 'homeport_files_without_row_deleted_total',
      help: 'Files that the hourly search found without a row and deleted',
      type: 'counter',
      read: deps.orphans.countDeleted,
    },
    {
      name: 'homeport_files_undeletable',
      help: 'Files without a row that could not be deleted',
      read: deps.orphans.countUndeletable,
    },
    {
      name: 'homeport_open_streams',
      help: 'Open streams of changes',
      read: deps.changes.countStreams,
    },
    {
      name: 'homeport_billing_events_failed',
      help: 'Billing events that could not be applied: see "homeport events list --failed"',
      read: deps.eventSearch.countFailed,
    },
    {
      name: 'homeport_app_store_notification_age_seconds',
      help: 'Time since the last notification of an app; absent while no purchase is due to renew or end',
      label: 'app',
      read: deps.stores.health.notificationAges,
    },
    {
      name: 'homeport_app_store_history_lag_seconds',
      help: "Time since the end of the part of Apple's history that was read, per app",
      label: 'app',
      read: deps.stores.health.historyLags,
    },
    {
      name: 'homeport_app_store_key_refused',
      help: '1 when Apple refused the API key in production at the last call; absent without purchases',
      read: async () => {
        const isRefused = await deps.stores.health.isKeyRefused()
        return isRefused === null ? null : Number(isRefused)
      },
    },
    {
      name: 'homeport_play_notification_age_seconds',
      help: 'Time since the last notification of an app on Google Play',
      label: 'app',
      read: deps.stores.health.playNotificationAges,
    },
    {
      name: 'homeport_play_account_refused',
      help: '1 when Google refused the service account at the last call',
      read: () => {
        const isRefused = deps.stores.health.isPlayAccountRefused()
        return isRefused === null ? null : Number(isRefused)
      },
    },
    {
      name: 'homeport_play_purchases_waiting',
      help: 'Purchases due to be refreshed from Google',
      read: deps.stores.health.countPlayWaiting,
    },
    {
      name: 'homeport_play_unacknowledged_age_seconds',
      help: 'Age of the oldest purchase that is not acknowledged; Google refunds it after three days',
      read: deps.stores.health.unacknowledgedAge,
    },
    {
      name: 'homeport_mails_waiting',
      help: 'Queued e-mails',
      read: deps.outbox.count,
    },
    {
      name: 'homeport_webhook_attempts_total',
      help: 'Attempts to deliver a webhook, by outcome',
      label: 'outcome',
      type: 'counter',
      read: deps.webhooks.health.attempts,
    },
    {
      name: 'homeport_webhook_queue_age_seconds',
      help: 'How long the oldest webhook delivery has been due',
      read: deps.webhooks.health.queueAge,
    },
    {
      name: 'homeport_webhook_endpoints_failed',
      help: 'Webhook endpoints that were disabled because they failed',
      read: deps.webhooks.health.countFailed,
    },
    {
      name: 'homeport_rates_age_seconds',
      help: 'Age of the currency rates in use',
      read: async () => {
        const served = rates.isStale && (await rates.readIfServed())
        return served && secondsSince(Date.parse(served.updatedAt))
      },
    },
    {
      name: 'homeport_backup_age_seconds',
      help: 'Age of the newest backup in BACKUP_DIR',
      read: async () => {
        const { newestAt } = await host.backup()
        return newestAt && secondsSince(newestAt.getTime())
      },
    },
    {
      name: 'homeport_certificate_expiry_timestamp_seconds',
      help: 'When the certificate in use expires, in seconds since 1970',
      read: () => {
        const validTo = host.certificate?.().validTo ?? null
        return validTo && validTo.getTime() / 1000
      },
    },
    {
      name: 'homeport_component_up',
      help: '1 when a component of /ready is ok, 0 when it is failing or stale; absent when it is off',
      label: 'component',
      read: async () => componentsUp(await readiness()),
    },
    {
      name: 'homeport_build_info',
      help: 'Always 1; the label is the running version',
      label: 'version',
      read: () => ({ [deps.version]: 1 }),
    },
  ]
}

function componentsUp({ instance: _name, ...parts }: Readiness): Record<string, number> {
  const isOn = ([, state]: [string, ComponentState]) => state !== 'off'
  const shown = Object.entries(parts).filter(isOn)
  return Object.fromEntries(shown.map(([name, state]) => [name, state === 'ok' ? 1 : 0]))
}

/** The values of a histogram. */
function toValues({ labels, count, sum, buckets }: RequestSeries): MetricValue[] {
  let total = 0
  const cumulative = [...LIMITS, '+Inf'].map((le, at) => {
    total += buckets[at] ?? 0
    return { part: 'bucket', labels: { le, ...labels }, value: total }
  })
  return [
    ...cumulative,
    { part: 'sum', labels, value: sum },
    { part: 'count', labels, value: count },
  ]
}

function countReplies({ requests }: Registry): Record<string, number> {
  const counts: Record<string, number> = startAtZero(['1xx', '2xx', '3xx', '4xx', '5xx'])
  for (const { labels, count } of requests()) {
    // What a stranger sends to a webhook that is not set up is no error of the server.
    const isUnused = labels.code === 'webhook_not_configured'
    const group = isUnused ? '4xx' : `${Math.floor(labels.status / 100)}xx`
    counts[group] = (counts[group] ?? 0) + count
  }
  return counts
}

/** The requests to the webhook at `route` by reply code; `stray` are those that were no delivery. */
function countDeliveries({ requests }: Registry, route: string, known: readonly string[]) {
  const counts: Record<string, number> = startAtZero([...known, 'stray'])
  for (const { labels, count, strays } of requests()) {
    if (labels.route !== route) continue
    counts['stray'] = (counts['stray'] ?? 0) + strays
    if (count > strays) counts[labels.code] = (counts[labels.code] ?? 0) + count - strays
  }
  return counts
}
