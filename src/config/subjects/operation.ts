import {
  amount,
  choice,
  flag,
  integer,
  listKind,
  path,
  port,
  setting,
  text,
  value,
} from '../setting.ts'
import { folderOrS3Url, isNetwork, NO_SPACES, schedule } from '../values.ts'
import { NETWORKS } from './network.ts'
import { S3_URL } from './storage.ts'

export const operationSettings = {
  console: setting('CONSOLE', flag(true), '`off` does not serve the operator’s console', {
    page: 'console.md',
  }),
  consoleNetworks: setting(
    'CONSOLE_NETWORKS',
    listKind(NETWORKS, isNetwork),
    'the networks that may open the console',
    { shown: 'all' },
  ),
  consolePort: setting(
    'CONSOLE_PORT',
    port,
    'a separate port for the console, which need not be public',
    { shown: 'the same port' },
  ),
  auditKeepDays: setting(
    'AUDIT_KEEP_DAYS',
    integer(1, 36_500, 365),
    'how long entries of the audit log are kept, in days',
  ),
  webhooksAllowPrivate: setting(
    'WEBHOOKS_ALLOW_PRIVATE',
    flag(false),
    '`on` lets outgoing webhooks go to private IP addresses and over http',
    { page: 'webhooks.md#allowed-urls' },
  ),
  metricsToken: setting(
    'METRICS_TOKEN',
    text('a token', NO_SPACES),
    'grants access to `/metrics` from other machines',
    { page: 'monitoring.md' },
  ),
}

export const backupSettings = {
  backupSchedule: setting(
    'BACKUP_SCHEDULE',
    value('a cron expression such as 15 2 * * *', schedule),
    'when to write a backup, as cron in UTC: `15 2 * * *`',
    { page: 'backups.md' },
  ),
  backupKeep: setting('BACKUP_KEEP', integer(1, 1000, 7), 'how many scheduled backups are kept'),
  backupDir: setting(
    'BACKUP_DIR',
    { ...value(`a path, or ${S3_URL}`, folderOrS3Url), isPath: true },
    'where backups are kept: a folder, or `s3://bucket/prefix?endpoint=…&region=…`',
    { shown: '`DATA_DIR/backups`', page: 'backups.md#object-stores' },
  ),
  backupS3AccessKeyId: setting(
    'BACKUP_S3_ACCESS_KEY_ID',
    text('a key id'),
    'credentials for the object store of `BACKUP_DIR`',
    { shown: '`S3_ACCESS_KEY_ID`' },
  ),
  backupS3SecretAccessKey: setting('BACKUP_S3_SECRET_ACCESS_KEY', text('a key'), 'their secret', {
    shown: '`S3_SECRET_ACCESS_KEY`',
  }),
  backupKey: setting(
    'BACKUP_KEY',
    text('a passphrase of at least 8 characters, or an age key', /^.{8,}$/s),
    'encrypts backups: an age recipient (`age1…`) or a passphrase; a command’s own value overrides the service’s',
    { shown: 'unset: not encrypted', page: 'backups.md' },
  ),
}

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'silent'] as const

export const logSettings = {
  logLevel: setting(
    'LOG_LEVEL',
    choice(LOG_LEVELS, 'info'),
    '`fatal`, `error`, `warn`, `info`, `debug` or `silent`',
  ),
  logFormat: setting(
    'LOG_FORMAT',
    choice(['json', 'text']),
    'readable lines (`text`), or one JSON object per line (`json`)',
    { shown: '`text` on a terminal, otherwise `json`' },
  ),
  logFile: setting(
    'LOG_FILE',
    path,
    'log to a file; a regular file is rotated, and reopened after a rename and on SIGHUP',
    { shown: 'standard output' },
  ),
  logFileBytes: setting(
    'LOG_FILE_BYTES',
    amount('bytes', 16 * 1024 * 1024, 64 * 1024),
    'the size at which the log file is rotated',
  ),
  logFileKeep: setting('LOG_FILE_KEEP', integer(0, 1000, 5), 'how many rotated files are kept'),
}
