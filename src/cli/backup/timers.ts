import type { Config } from '../../config.ts'
import type { Log } from '../../lib/log.ts'
import type { Timer } from '../../lib/timer.ts'
import { programCommand } from '../self-command.ts'

/** Writes a backup at `BACKUP_SCHEDULE`, in a process of its own, and keeps the newest `BACKUP_KEEP`. */
export function backupTimers(config: Config, log: Log): Timer[] {
  const { backupSchedule, backupKeep, dataDir } = config
  if (backupSchedule === null) return []
  return [{ name: 'backup', schedule: [backupSchedule], run }]

  async function run(signal: AbortSignal) {
    const options = ['--json', '--data-dir', dataDir, '--keep', String(backupKeep)]
    const child = Bun.spawn(programCommand('backup', ...options), {
      stdin: 'ignore',
      stdout: 'pipe',
      stderr: 'pipe',
      signal,
    })
    const [out, err] = await Promise.all([child.stdout.text(), child.stderr.text()])
    if ((await child.exited) !== 0) throw new Error(`the backup failed: ${err.trim()}`)
    log.info({ backup: JSON.parse(out) }, 'a backup was written')
  }
}
