import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../config.ts'
import { makeFolder } from '../../lib/durable-file.ts'
import type { Job, JobRun } from '../../lib/jobs.ts'
import type { Log } from '../../lib/log.ts'
import type { BackupState } from '../../usecases/monitoring/host-state.ts'
import { runProgram } from '../processes/program-command.ts'
import { backupDirOf, newestBackup } from './backups.ts'

const BACKUP_JOB = 'backup'
/** A large backup can take hours. */
const GRACE_MS = 6 * 60 * 60 * 1000
/** Cache the probe of the folder for this long. */
const PROBE_INTERVAL_MS = 30_000

/** Writes a backup at `BACKUP_SCHEDULE`, in a child process, and keeps the newest `BACKUP_KEEP`. */
export function backupJobs(config: Config, log: Log): Job[] {
  const { backupSchedule, backupKeep, dataDir } = config
  if (backupSchedule === null) return []
  // A machine that was off at the scheduled time catches up at the start.
  const isDueAtStart = async () => missedSince(config, await newestBackup(config)) !== null
  return [{ name: BACKUP_JOB, schedule: [backupSchedule], run, isDueAtStart }]

  async function run(signal: AbortSignal) {
    const options = ['--json', '--data-dir', dataDir, '--keep', String(backupKeep)]
    const { succeeded, out, err } = await runProgram(['backup', ...options], signal)
    if (!succeeded) throw new Error(err.trim() || 'the backup failed')
    log.info({ backup: JSON.parse(out) }, 'a backup was written')
  }
}

/** Whether backups are written as scheduled, by the last run, the age of the newest backup and a probe of the folder. */
export function createBackupState(
  config: Config,
  runs: ReadonlyMap<string, JobRun | null> = new Map(),
): () => Promise<BackupState> {
  const targetFault = createTargetProbe(config)
  return async () => {
    const newest = await newestBackup(config)
    const newestAt = newest?.at ?? null
    if (config.backupSchedule === null) return { newestAt, isScheduled: false, fault: null }
    const run = runs.get(BACKUP_JOB)
    const isMended = run && newestAt !== null && newestAt > run.at
    const error = isMended ? null : (run?.error ?? null)
    return { newestAt, isScheduled: true, fault: error ?? overdue(newest) ?? (await targetFault()) }
  }

  function overdue(newest: { at: Date } | null): string | null {
    const due = missedSince(config, newest)
    if (due === null || Date.now() < due.getTime() + GRACE_MS) return null
    return `the one due at ${due.toISOString()} was not written`
  }
}

/**
 * When the first backup after the newest one was due; null when none was. Null for several instances: any of them may
 * have written it, to its own disk.
 */
function missedSince(
  { backupSchedule, databaseUrl }: Config,
  newest: { at: Date } | null,
): Date | null {
  if (backupSchedule === null || newest === null || databaseUrl !== null) return null
  const due = Bun.cron.parse(backupSchedule, newest.at, { tz: 'UTC' })
  return due !== null && due.getTime() <= Date.now() ? due : null
}

/** Returns why no file can be written to the folder of backups; null when one can. */
function createTargetProbe(config: Config): () => Promise<string | null> {
  let last: { at: number; fault: Promise<string | null> } | null = null
  return () => {
    const at = performance.now()
    if (last === null || at - last.at > PROBE_INTERVAL_MS)
      last = { at, fault: probe(backupDirOf(config)) }
    return last.fault
  }
}

/** Warns at the start, not hours later at the first scheduled backup. */
export async function warnOfTarget(config: Config, log: Log) {
  if (config.backupSchedule === null) return
  const fault = await probe(backupDirOf(config))
  if (fault !== null) log.warn(`BACKUP_SCHEDULE fails: ${fault}`)
}

async function probe(folder: string): Promise<string | null> {
  const path = join(folder, `.homeport-probe-${process.pid}`)
  try {
    await makeFolder(folder)
    await writeFile(path, '', { mode: 0o600 })
    await rm(path)
    return null
  } catch (error) {
    const { code } = error as { code?: string }
    return `${folder} cannot be written (${code}): check BACKUP_DIR, its disk and its owner`
  }
}
