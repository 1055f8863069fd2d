import type { Config } from '../../config.ts'
import { DAY_MS } from '../../lib/durations.ts'
import { newestBackup } from '../backup/backups.ts'
import { createBackupState } from '../backup/jobs.ts'
import { type Finding, failed, ok, warning } from './check.ts'
import type { ServerState } from './server-state.ts'

const OLD_BACKUP_MS = 2 * DAY_MS

/** Checks that there is a recent backup and that the schedule works. */
export async function checkBackup(config: Config, server: ServerState | null): Promise<Finding> {
  const { backupSchedule } = config
  const { fault } = server ?? (await createBackupState(config)())
  const newest = await newestBackup(config)
  const text = newest ? `${newest.path} from ${newest.at.toISOString()}` : 'none'
  if (fault !== null) {
    const [reason = ''] = fault.split('\n')
    return failed(
      `${text}: scheduled backups are failing: ${reason}`,
      'Fix the cause, then run "homeport backup" to check that backups work.',
    )
  }
  if (!newest && backupSchedule === null) {
    return warning(text, 'Set BACKUP_SCHEDULE, and copy backups to another machine.')
  }
  if (!newest) {
    const next = Bun.cron.parse(backupSchedule ?? '', Date.now(), { tz: 'UTC' })
    return warning(
      `none yet: the first is due at ${next?.toISOString()}`,
      'Create one now with "homeport backup".',
    )
  }
  const isOld = Date.now() - newest.at.getTime() > OLD_BACKUP_MS
  return isOld ? warning(text, 'Over two days old: run "homeport backup".') : ok(text)
}
