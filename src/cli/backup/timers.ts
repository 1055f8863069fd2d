import type { Config } from '../../config.ts'
import type { Log } from '../../lib/log.ts'
import type { Timer, TimerRun } from '../../lib/timer.ts'
import type { BackupState } from '../../usecases/monitoring/host-state.ts'
import { runProgram } from '../self-command.ts'
import { backupDirOf, listBackups } from './backups.ts'

const BACKUP_TIMER = 'backup'
/** A large backup takes its time. */
const GRACE = 6 * 60 * 60 * 1000

/** Writes a backup at `BACKUP_SCHEDULE`, in a process of its own, and keeps the newest `BACKUP_KEEP`. */
export function backupTimers(config: Config, log: Log): Timer[] {
  const { backupSchedule, backupKeep, dataDir } = config
  if (backupSchedule === null) return []
  const state = createBackupState(config)
  // A machine that was off at the time writes it when it is on again.
  const isDueAtStart = async () => (await state()).fault !== null
  return [{ name: BACKUP_TIMER, schedule: [backupSchedule], run, isDueAtStart }]

  async function run(signal: AbortSignal) {
    const options = ['--json', '--data-dir', dataDir, '--keep', String(backupKeep)]
    const { isGood, out, err } = await runProgram(['backup', ...options], signal)
    if (!isGood) throw new Error(err.trim() || 'the backup failed')
    log.info({ backup: JSON.parse(out) }, 'a backup was written')
  }
}

/** Whether backups are written as scheduled, by how the timer ran last and by the age of the newest one. */
export function createBackupState(
  config: Config,
  runs: ReadonlyMap<string, TimerRun | null> = new Map(),
): () => Promise<BackupState> {
  const { backupSchedule, databaseUrl } = config
  return async () => {
    const [newest] = await listBackups(backupDirOf(config))
    const newestAt = newest?.at ?? null
    if (backupSchedule === null) return { newestAt, isScheduled: false, fault: null }
    const error = runs.get(BACKUP_TIMER)?.error ?? null
    return { newestAt, isScheduled: true, fault: error ?? overdue(backupSchedule, newestAt) }
  }

  /** Of several instances the one that is free writes the backup: the others have older ones, or none. */
  function overdue(schedule: string, newestAt: Date | null): string | null {
    if (newestAt === null || databaseUrl !== null) return null
    const due = Bun.cron.parse(schedule, newestAt, { tz: 'UTC' })
    if (due === null || Date.now() < due.getTime() + GRACE) return null
    return `the one due at ${due.toISOString()} was not written`
  }
}
