import { stat } from 'node:fs/promises'
import type { Config } from '../../config/config.ts'
import { isSecureInTransit } from '../../config/values.ts'
import { DAY_MS } from '../../lib/time/durations.ts'
import { type BackupPlace, backupPlaceOf, newestBackup } from '../backup/backups.ts'
import { createBackupState, probeTarget } from '../backup/jobs.ts'
import { type Finding, failed, ok, warning } from './check.ts'
import type { ServerState } from './server-state.ts'

const OLD_BACKUP_MS = 2 * DAY_MS

/** Checks that there is a recent backup and that the schedule works. */
export async function checkBackup(config: Config, server: ServerState | null): Promise<Finding> {
  const { backupSchedule } = config
  const place = backupPlaceOf(config)
  const isStore = typeof place !== 'string'
  const storeFault = isStore ? await probeTarget(place) : null
  if (storeFault !== null) {
    return failed(
      `backups fail: ${storeFault}`,
      'Correct BACKUP_DIR or the permissions of its key (docs/backups.md), then run "homeport backup".',
    )
  }
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
    ...((await isOnSameDisk(config, place))
      ? ['on the disk of DATA_DIR, which they are lost with']
      : []),
    ...(isStore && !isSecureInTransit(new URL(place.endpoint)) ? ['sent over http'] : []),
    ...(newest.path.endsWith('.age') ? [] : ['not encrypted']),
  ]
  if (risks.length === 0) return ok(text)
  return warning(
    `${text}: backups are ${risks.join(' and ')}`,
    isStore
      ? 'Set BACKUP_KEY, and use an https endpoint (docs/backups.md).'
      : 'Mount another disk at BACKUP_DIR or let another machine fetch them, and set BACKUP_KEY (docs/backups.md).',
  )
}

/** Whether the newest backup would be lost with the disk that holds the data. */
async function isOnSameDisk(config: Config, place: BackupPlace): Promise<boolean> {
  if (typeof place !== 'string' || config.databaseUrl !== null) return false
  const [data, backups] = await Promise.all([config.dataDir, place].map((path) => stat(path)))
  return data?.dev === backups?.dev
}
