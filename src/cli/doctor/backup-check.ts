import { stat } from 'node:fs/promises'
import type { Config } from '../../config.ts'
import { DAY_MS } from '../../lib/durations.ts'
import { backupDirOf, newestBackup } from '../backup/backups.ts'
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
  if (isOld) return warning(text, 'Over two days old: run "homeport backup".')
  const risks = [
    ...((await isOnSameDisk(config)) ? ['on the disk of DATA_DIR, which they are lost with'] : []),
    ...(newest.path.endsWith('.age') ? [] : ['not encrypted']),
  ]
  if (risks.length === 0) return ok(text)
  return warning(
    `${text}: backups are ${risks.join(' and ')}`,
    'Mount another disk at BACKUP_DIR or let another machine fetch them, and set BACKUP_KEY (docs/backups.md).',
  )
}

/** Whether the newest backup would be lost with the disk that holds the data. */
async function isOnSameDisk(config: Config): Promise<boolean> {
  const [data, backups] = await Promise.all(
    [config.dataDir, backupDirOf(config)].map((path) => stat(path)),
  )
  return config.databaseUrl === null && data?.dev === backups?.dev
}
