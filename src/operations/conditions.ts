import type { ConditionList } from '../platform/conditions/condition.ts'
import {
  daysUntil,
  farthest,
  highest,
  highestOrMissing,
  lowest,
  share,
  shareOver,
} from '../platform/conditions/measure.ts'
import { SKEW_WARNING_MS } from '../platform/jobs/jobs.ts'

const DURATIONS = 'homeport_http_request_duration_seconds'
/** Uploads and files take as long as the network does. */
const NOT_FILES = { route: '!/api/user/attachments.*|/files/.*' }

export const SERVER_CONDITIONS = {
  errors: {
    title: 'Many responses are server errors',
    advice:
      'The log has a warning for each, with its requestId. "homeport doctor" helps to find the cause.',
    severity: 'page',
    minutes: 5,
    measure: share('homeport_http_replies_total', 5, { class: '5xx' }),
    limit: { above: 1, unit: '% of responses' },
  },
  slow: {
    title: 'Responses take longer than half a second',
    advice: 'See the requests in the live log of the console.',
    severity: 'warn',
    minutes: 10,
    measure: shareOver(DURATIONS, 0.5, 10, NOT_FILES),
    limit: { above: 1, unit: '% of responses' },
  },
  'disk-low': {
    title: 'The disk is almost full',
    advice: 'Uploads are refused below MIN_FREE_BYTES. Delete old backups, or enlarge the disk.',
    severity: 'page',
    minutes: 10,
    measure: lowest('homeport_disk_free_bytes', { per: 1e6 }),
    limit: { below: 1_000, unit: 'MB free' },
  },
  'inodes-low': {
    title: 'The disk has room for few more files',
    advice: '"df -i" shows which disk. Without inodes nothing can be stored.',
    severity: 'page',
    minutes: 10,
    measure: lowest('homeport_disk_free_inodes'),
    limit: { below: 10_000, unit: 'files' },
  },
  'not-ready': {
    title: 'Nothing can be stored',
    advice: 'GET /ready answers 503. "homeport doctor" says why.',
    severity: 'page',
    minutes: 2,
    measure: lowest('homeport_component_up', { labels: { component: 'database|storage' } }),
    limit: { below: 1 },
  },
  'component-failing': {
    title: 'A component is failing',
    advice:
      'imageWorker: images are refused. store: another server uses it. certificate: the renewal fails. "homeport doctor" and the log say why.',
    severity: 'warn',
    minutes: 15,
    measure: lowest('homeport_component_up', {
      labels: { component: '!database|storage|rates|backup' },
    }),
    limit: { below: 1 },
  },
  'certificate-expires': {
    title: 'The certificate expires soon',
    advice: 'It should have been renewed by now. "homeport doctor" and the log say why it was not.',
    severity: 'page',
    minutes: 60,
    measure: daysUntil('homeport_certificate_expiry_timestamp_seconds'),
    limit: { below: 7, unit: 'days left' },
  },
  'clock-differs': {
    title: "The clock differs from the database server's",
    advice: 'Synchronize both clocks: "timedatectl set-ntp true".',
    severity: 'warn',
    minutes: 5,
    measure: farthest('homeport_clock_skew_seconds'),
    limit: { above: SKEW_WARNING_MS / 1000, unit: 'seconds' },
  },
  'mails-waiting': {
    title: 'E-mails are queued and not sent',
    advice:
      '"homeport doctor" tests the SMTP server. While it does not work, alerts arrive by webhook only.',
    severity: 'warn',
    minutes: 15,
    measure: highest('homeport_mails_waiting'),
    limit: { above: 0, unit: 'e-mails' },
  },
  'backup-failing': {
    title: 'Scheduled backups fail',
    advice: '"homeport doctor" says why. "homeport backup" writes one now.',
    severity: 'page',
    minutes: 10,
    measure: lowest('homeport_component_up', { labels: { component: 'backup' } }),
    limit: { below: 1 },
  },
  'backup-old': {
    title: 'The newest backup is old',
    advice: 'Set BACKUP_SCHEDULE. "homeport backup" writes one now.',
    severity: 'page',
    minutes: 60,
    measure: highestOrMissing('homeport_backup_age_seconds', { per: 3_600 }),
    limit: { above: 48, unit: 'hours' },
  },
} satisfies ConditionList
