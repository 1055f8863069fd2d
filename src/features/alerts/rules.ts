import type { Labels, Measurements } from '../../platform/conditions/measurements.ts'
import { hours, type Rule, refusedDeliveries, scaled } from '../../platform/conditions/units.ts'
import { STORE_RULES } from './store-rules.ts'

const DURATIONS = 'homeport_http_request_duration_seconds'
/** Uploads and files take as long as the network does. */
const NOT_FILES: Labels = { route: /^(?!\/api\/user\/attachments|\/files\/)/ }

/** The rules, as in docs/monitoring/alerts.yml for Prometheus. */
export const RULES: Rule[] = [
  {
    name: 'errors',
    title: 'Many replies are server errors',
    advice:
      'The log has a warning for each, with its requestId. "homeport doctor" helps to find the cause.',
    severity: 'page',
    minutes: 5,
    threshold: 1,
    unit: '% of replies',
    read: (m) => shareOf(m, 'homeport_http_replies_total', 5, { class: /^5xx$/ }),
  },
  {
    name: 'slow',
    title: 'Replies take longer than half a second',
    advice: 'See the requests in the live log of the console.',
    severity: 'warn',
    minutes: 10,
    threshold: 1,
    unit: '% of replies',
    read: slowShare,
  },
  {
    name: 'billing-events-failed',
    title: 'Billing events could not be applied',
    advice: 'They are stored and retried. "homeport events list --failed" lists them.',
    severity: 'page',
    minutes: 15,
    threshold: 0,
    unit: 'events',
    read: (m) => m.highest('homeport_billing_events_failed'),
  },
  {
    name: 'billing-refused',
    title: "The billing provider's deliveries are refused",
    advice: `Code unauthenticated: the provider's token is not WEBHOOK_TOKEN. "homeport doctor" says more.`,
    severity: 'page',
    minutes: 0,
    threshold: 0,
    unit: 'in two hours',
    read: (m) =>
      refusedDeliveries(
        m,
        'homeport_billing_deliveries_total',
        /^(?!ok$|duplicate$|ignored$|stray$)/,
      ),
  },
  {
    name: 'disk-low',
    title: 'The disk is almost full',
    advice: 'Uploads are refused below MIN_FREE_BYTES. Delete old backups, or enlarge the disk.',
    severity: 'page',
    minutes: 10,
    threshold: 1_000,
    unit: 'MB free',
    isMinimum: true,
    read: (m) => scaled(m.lowest('homeport_disk_free_bytes'), 1e6),
  },
  {
    name: 'inodes-low',
    title: 'The disk has room for few more files',
    advice: '"df -i" shows which disk. Without inodes nothing can be stored.',
    severity: 'page',
    minutes: 10,
    threshold: 10_000,
    unit: 'files',
    isMinimum: true,
    read: (m) => m.lowest('homeport_disk_free_inodes'),
  },
  {
    name: 'files-undeletable',
    title: 'Files without a row cannot be deleted',
    advice:
      'The log names each, with the reason. In a store, allow the key DeleteObject, and end the Object Lock or retention of the objects. On a disk, check the owner of DATA_DIR/files.',
    severity: 'warn',
    minutes: 0,
    threshold: 0,
    unit: 'files',
    read: (m) => m.highest('homeport_files_undeletable'),
  },
  {
    name: 'not-ready',
    title: 'Nothing can be stored',
    advice: 'GET /ready answers 503. "homeport doctor" says why.',
    severity: 'page',
    minutes: 2,
    threshold: 1,
    unit: '',
    isMinimum: true,
    read: (m) => m.lowest('homeport_component_up', { component: /^(database|storage)$/ }),
  },
  {
    name: 'component-failing',
    title: 'A component is failing',
    advice:
      'imageWorker: images are refused. store: another server uses it. certificate: the renewal fails. "homeport doctor" and the log say why.',
    severity: 'warn',
    minutes: 15,
    threshold: 1,
    unit: '',
    isMinimum: true,
    read: (m) =>
      m.lowest('homeport_component_up', { component: /^(?!database$|storage$|rates$|backup$)/ }),
  },
  {
    name: 'certificate-expires',
    title: 'The certificate expires soon',
    advice: 'It should have been renewed by now. "homeport doctor" and the log say why it was not.',
    severity: 'page',
    minutes: 60,
    threshold: 7,
    unit: 'days left',
    isMinimum: true,
    read: async (m, now) =>
      daysUntil(await m.lowest('homeport_certificate_expiry_timestamp_seconds'), now),
  },
  {
    name: 'clock-differs',
    title: "The clock differs from the database server's",
    advice: 'Synchronize both clocks: "timedatectl set-ntp true".',
    severity: 'warn',
    minutes: 5,
    threshold: 5,
    unit: 'seconds',
    read: async (m) => absolute(await m.highest('homeport_clock_skew_seconds')),
  },
  {
    name: 'mails-waiting',
    title: 'E-mails are queued and not sent',
    advice:
      '"homeport doctor" tests the SMTP server. While it does not work, alerts arrive by webhook only.',
    severity: 'warn',
    minutes: 15,
    threshold: 0,
    unit: 'e-mails',
    read: (m) => m.highest('homeport_mails_waiting'),
  },
  {
    name: 'webhook-disabled',
    title: 'A webhook endpoint was disabled because it failed',
    advice: '"homeport webhooks list" names it. Repair the receiver, then enable the endpoint.',
    severity: 'warn',
    minutes: 0,
    threshold: 0,
    unit: 'endpoints',
    read: (m) => m.highest('homeport_webhook_endpoints_failed'),
  },
  {
    name: 'webhooks-failing',
    title: 'Webhook deliveries fail',
    advice:
      '"homeport webhooks deliveries --state waiting" lists them, "homeport webhooks show ID" says why.',
    severity: 'warn',
    minutes: 30,
    threshold: 10,
    unit: 'failed attempts in an hour, none delivered',
    read: undeliveredWebhooks,
  },
  {
    name: 'webhooks-late',
    title: 'Webhook deliveries are late',
    advice: 'An endpoint replies too slowly for its number of events.',
    severity: 'warn',
    minutes: 10,
    threshold: 5,
    unit: 'minutes',
    read: (m) => scaled(m.highest('homeport_webhook_queue_age_seconds'), 60),
  },
  {
    name: 'rates-old',
    title: 'The currency rates are old',
    advice: '"homeport rates refresh" tries again and says what fails.',
    severity: 'warn',
    minutes: 0,
    // Around Easter, the European Central Bank publishes none for five days.
    threshold: 6,
    unit: 'days',
    read: (m) => scaled(m.highest('homeport_rates_age_seconds'), 86_400),
  },
  {
    name: 'backup-failing',
    title: 'Scheduled backups fail',
    advice: '"homeport doctor" says why. "homeport backup" writes one now.',
    severity: 'page',
    minutes: 10,
    threshold: 1,
    unit: '',
    isMinimum: true,
    read: (m) => m.lowest('homeport_component_up', { component: /^backup$/ }),
  },
  {
    name: 'backup-old',
    title: 'The newest backup is old',
    advice: 'Set BACKUP_SCHEDULE. "homeport backup" writes one now.',
    severity: 'page',
    minutes: 60,
    threshold: 48,
    unit: 'hours',
    read: (m) => hours(m.highest('homeport_backup_age_seconds')),
  },
  {
    name: 'sign-ins-refused',
    title: 'Many sign-ins fail',
    advice:
      'Someone may be guessing passwords. Failed attempts are slowed down for each account and network.',
    severity: 'warn',
    minutes: 10,
    threshold: 600,
    unit: 'in ten minutes',
    read: (m) =>
      m.increase('homeport_denials_total', 10, {
        reason: /^(wrong_password|wrong_code|unknown_account)$/,
      }),
  },
  ...STORE_RULES,
]

/** In percent; null without any. */
async function shareOf(
  m: Measurements,
  name: string,
  minutes: number,
  wanted: Labels,
): Promise<number | null> {
  const total = await m.increase(name, minutes)
  return total === 0 ? null : ((await m.increase(name, minutes, wanted)) / total) * 100
}

/** The share of replies that took longer than half a second, in percent. */
async function slowShare(m: Measurements): Promise<number | null> {
  const total = await m.increase(DURATIONS, 10, NOT_FILES, 'count')
  const fast = await m.increase(DURATIONS, 10, { ...NOT_FILES, le: /^0\.5$/ }, 'bucket')
  return total === 0 ? null : ((total - fast) / total) * 100
}

async function undeliveredWebhooks(m: Measurements): Promise<number> {
  const name = 'homeport_webhook_attempts_total'
  const delivered = await m.increase(name, 60, { outcome: /^delivered$/ })
  const failed = await m.increase(name, 60, { outcome: /^(?!delivered$)/ })
  return delivered > 0 ? 0 : failed
}

function daysUntil(seconds: number | null, now: Date): number | null {
  return seconds === null ? null : (seconds - now.getTime() / 1000) / 86_400
}

function absolute(value: number | null): number | null {
  return value === null ? null : Math.abs(value)
}
