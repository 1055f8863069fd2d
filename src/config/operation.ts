import { NETWORKS, type SettingsReader } from './define-setting.ts'
import { folderOrS3Url, hasNoSpaces, isNetwork, nonEmpty, schedule } from './values.ts'

const FOLDER_OR_URL = 'a path, or s3://bucket/prefix?endpoint=https://…&region=…'

/** Settings of the console, the service manager and metrics. */
export function readOperations({ env, optional, all, isOn, integer, port }: SettingsReader) {
  return {
    console: isOn('CONSOLE', true),
    /** The networks that may open the console; all networks when empty. */
    consoleNetworks: all('CONSOLE_NETWORKS', NETWORKS, isNetwork),
    /** A separate port for the console, which need not be public; null to serve it on the main port. */
    consolePort: port('CONSOLE_PORT', null),
    auditKeepDays: integer('AUDIT_KEEP_DAYS', 365, 1, 36_500),
    /** The socket on which systemd receives notifications. */
    notifySocket: env('NOTIFY_SOCKET') || null,
    /** The environment file that the systemd unit names, or else the `.env` file that was read. */
    environmentFile: env('SERVICE_ENVIRONMENT_FILE') || null,
    /** systemd considers the server hung when it gets no watchdog ping for this long. */
    watchdogMs: Number(env('WATCHDOG_USEC') ?? 0) / 1000 || null,
    metricsToken: optional('METRICS_TOKEN', 'a token', (text) =>
      hasNoSpaces(text) ? text : undefined,
    ),
  }
}

/** Credentials of an object store. */
type S3Keys = { accessKeyId: string; secretAccessKey: string; sessionToken?: string }

/** Settings of backups. `s3` are the credentials for attachments. */
export function readBackups({ optional, pathOr, integer }: SettingsReader, s3: S3Keys) {
  const accessKeyId = optional('BACKUP_S3_ACCESS_KEY_ID', 'a key id', nonEmpty)
  const secretAccessKey = optional('BACKUP_S3_SECRET_ACCESS_KEY', 'a key', nonEmpty)
  const hasOwnKeys = accessKeyId !== null || secretAccessKey !== null
  const ownKeys = { accessKeyId: accessKeyId ?? '', secretAccessKey: secretAccessKey ?? '' }
  return {
    /** A passphrase or an age recipient; reading a backup needs the passphrase or an age identity. */
    backupKey: optional(
      'BACKUP_KEY',
      'a passphrase of at least 8 characters, or an age key',
      (text) => (text.length >= 8 ? text : undefined),
    ),
    /** A folder, or a place in an object store; null for the folder in `DATA_DIR`. */
    backupDir: pathOr('BACKUP_DIR', FOLDER_OR_URL, folderOrS3Url),
    /** The credentials for the object store of `BACKUP_DIR`. */
    backupS3: hasOwnKeys ? ownKeys : s3,
    /** In UTC; null for no scheduled backups. */
    backupSchedule: optional('BACKUP_SCHEDULE', 'a cron expression such as 15 2 * * *', schedule),
    backupKeep: integer('BACKUP_KEEP', 7, 1, 1000),
  }
}
