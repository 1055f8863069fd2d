import type { Config } from '../../config.ts'
import type { Log } from '../../lib/log.ts'
import type { Timer } from '../../lib/timer.ts'
import { runProgram } from '../self-command.ts'

/** Writes a backup at `BACKUP_SCHEDULE`, in a process of its own, and keeps the newest `BACKUP_KEEP`. */
export function backupTimers(config: Config, log: Log): Timer[] {
  const { backupSchedule, backupKeep, dataDir } = config
  if (backupSchedule === null) return []
  return [{ name: 'backup', schedule: [backupSchedule], run }]

  async function run(signal: AbortSignal) {
    const options = ['--json', '--data-dir', dataDir, '--keep', String(backupKeep)]
    const { isGood, out, err } = await runProgram(['backup', ...options], signal)
    if (!isGood) throw new Error(`the backup failed: ${err}`)
    log.info({ backup: JSON.parse(out) }, 'a backup was written')
  }
}
