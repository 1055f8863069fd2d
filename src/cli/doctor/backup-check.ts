import type { Config } from '../../config.ts'
import { DAY_MS } from '../../lib/durations.ts'
import { newestBackup } from '../backup/backups.ts'
import { createBackupState } from '../backup/timers.ts'
import { type Finding, failed, ok, warning } from './check.ts'
import type { ServerState } from './server-state.ts'

const OLD_BACKUP = 2 * DAY_MS

/** Whether there is a recent backup, and whether the schedule writes them. */
export async function checkBackup(config: Config, server: ServerState | null): Promise<Finding> {
  const { backupSchedule } = config
  const { fault } = server ?? (await createBackupState(config)())
  const newest = await newestBackup(config)
  const text = newest ? `${newest.path} of ${newest.at.toISOString()}` : 'none'
  if (fault !== null) {
    const [reason = ''] = fault.split('\n')
    return failed(
      `${text}: BACKUP_SCHEDULE fails: ${reason}`,
      'Mend that; "homeport backup" tries it now.',
    )
  }
  if (!newest && backupSchedule === null) {
    return warning(text, 'Set BACKUP_SCHEDULE, and copy backups to another machine.')
  }
  if (!newest) {
    const next = Bun.cron.parse(backupSchedule ?? '', Date.now(), { tz: 'UTC' })
    return warning(
      `none yet: the first is due at ${next?.toISOString()}`,
      'Write one now with "homeport backup".',
    )
  }
  const isOld = Date.now() - newest.at.getTime() > OLD_BACKUP
  return isOld ? warning(text, 'Older than two days: write one with "homeport backup".') : ok(text)
}
