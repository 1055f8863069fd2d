import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../config.ts'
import { makeFolder } from '../../lib/durable-file.ts'
import { HOUR_MS } from '../../lib/durations.ts'
import type { Job, JobRun } from '../../lib/jobs.ts'
import type { Log } from '../../lib/log.ts'
import { withTimeout } from '../../lib/with-timeout.ts'
import type { BackupState } from '../../usecases/monitoring/host-state.ts'
import { runProgram } from '../processes/program-command.ts'
import { backupDirOf, newestBackup } from './backups.ts'

const BACKUP_JOB = 'backup'
/** A large backup can take hours. */
const GRACE_MS = 6 * HOUR_MS
/** How long the result of probing the folder is cached. */
const PROBE_INTERVAL_MS = 30_000
/** A disk that is mounted over the network may never answer. */
const FOLDER_TIMEOUT_MS = 2_000

/** Writes a backup at `BACKUP_SCHEDULE`, in a child process, and keeps the newest `BACKUP_KEEP`. */
export function backupJobs(config: Config, log: Log): Job[] {
  const { backupSchedule, backupKeep, dataDir } = config
  if (backupSchedule === null) return []
  // A machine that was off at the scheduled time catches up when the server starts.
  const isDueAtStart = async () => missedSince(config, await newestBackup(config)) !== null
  return [{ name: BACKUP_JOB, schedule: [backupSchedule], run, isDueAtStart }]

  async function run(signal: AbortSignal) {
    const options = ['--json', '--data-dir', dataDir, '--keep', String(backupKeep)]
    const { succeeded, out, err } = await runProgram(['backup', ...options], signal)
    if (!succeeded) throw new Error(err.trim() || 'the backup failed')
    log.info({ backup: JSON.parse(out) }, 'a backup was written')
  }
}

/** Whether scheduled backups work, judging by the last run, the age of the newest backup and a test write. */
export function createBackupState(
  config: Config,
  runs: ReadonlyMap<string, JobRun | null> = new Map(),
): () => Promise<BackupState> {
  const targetFault = createTargetProbe(config)
  let reading: Promise<BackupState> | null = null
  return () => {
    // Callers share one attempt, because each one that hangs occupies a thread.
    reading ??= read().finally(() => {
      reading = null
    })
    const late = new Error('the folder does not respond')
    return withTimeout(reading, FOLDER_TIMEOUT_MS, () => late).catch((error) => {
      if (error !== late) throw error
      const fault = `${backupDirOf(config)} does not respond: check BACKUP_DIR and its mount`
      return { newestAt: null, isScheduled: config.backupSchedule !== null, fault }
    })
  }

  async function read(): Promise<BackupState> {
    const newest = await newestBackup(config)
    const newestAt = newest?.at ?? null
    if (config.backupSchedule === null) return { newestAt, isScheduled: false, fault: null }
    const run = runs.get(BACKUP_JOB)
    const hasRecovered = run && newestAt !== null && newestAt > run.at
    const error = hasRecovered ? null : (run?.error ?? null)
    const fault = error ?? describeOverdue(newest) ?? (await targetFault())
    return { newestAt, isScheduled: true, fault }
  }

  function describeOverdue(newest: { at: Date } | null): string | null {
    const due = missedSince(config, newest)
    if (due === null || Date.now() < due.getTime() + GRACE_MS) return null
    return `the one due at ${due.toISOString()} was not written`
  }
}

/**
 * When the first missed backup after the newest one was due; null when none was missed. Also null
 * with several instances, because any of them may have written it to its own disk.
 */
function missedSince(
  { backupSchedule, databaseUrl }: Config,
  newest: { at: Date } | null,
): Date | null {
  if (backupSchedule === null || newest === null || databaseUrl !== null) return null
  const due = Bun.cron.parse(backupSchedule, newest.at, { tz: 'UTC' })
  return due !== null && due.getTime() <= Date.now() ? due : null
}

/** Creates a cached check that returns why the backup folder is not writable; null when it is. */
function createTargetProbe(config: Config): () => Promise<string | null> {
  let last: { at: number; fault: Promise<string | null> } | null = null
  return () => {
    const at = performance.now()
    if (last === null || at - last.at > PROBE_INTERVAL_MS)
      last = { at, fault: probe(backupDirOf(config)) }
    return last.fault
  }
}

/** Warns when the server starts, not hours later at the first scheduled backup. */
export async function warnIfTargetUnwritable(config: Config, log: Log) {
  if (config.backupSchedule === null) return
  const fault = await probe(backupDirOf(config))
  if (fault !== null) log.warn(`scheduled backups will fail: ${fault}`)
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
    return `${folder} is not writable (${code}): check BACKUP_DIR, its disk and its owner`
  }
}
