import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../config/config.ts'
import { createS3Client } from '../../features/attachments/storage/s3/client.ts'
import { withTimeout } from '../../lib/concurrency/with-timeout.ts'
import { makeFolder } from '../../lib/files/durable-file.ts'
import type { Log } from '../../lib/log/log.ts'
import { HOUR_MS, MINUTE_MS } from '../../lib/time/durations.ts'
import type { BackupState } from '../../operations/host-state.ts'
import type { Job, JobRun } from '../../platform/jobs/jobs.ts'
import { runProgram } from '../processes/program-command.ts'
import { describeForOperator } from '../unavailable.ts'
import { type BackupLocation, formatBackupPath, locateBackups, newestBackup } from './backups.ts'

const BACKUP_JOB = 'backup'
/** A large backup can take hours. */
const GRACE_MS = 6 * HOUR_MS
/** How long the result of probing the backup location is cached. */
const PROBE_INTERVAL_MS = 30_000
/** A store may keep each version of the probe, and charges for listing. */
const STORE_PROBE_INTERVAL_MS = HOUR_MS
const STORE_LIST_INTERVAL_MS = MINUTE_MS
/** A network mount may never respond. */
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
  const location = locateBackups(config)
  const isStore = typeof location !== 'string'
  const targetProblem = cached(
    () => probeTarget(location),
    (fault) => (isStore && fault === null ? STORE_PROBE_INTERVAL_MS : PROBE_INTERVAL_MS),
  )
  const findNewest = cached(
    () => newestBackup(config),
    () => (isStore ? STORE_LIST_INTERVAL_MS : 0),
  )
  let reading: Promise<BackupState> | null = null
  return () => {
    // Callers share one attempt, because each one that hangs occupies a thread.
    reading ??= read().finally(() => {
      reading = null
    })
    const late = new Error('the folder does not respond')
    return withTimeout(reading, FOLDER_TIMEOUT_MS, () => late).catch((error) => {
      if (error !== late) throw error
      const what = isStore ? 'the network' : 'its mount'
      return failing(`${formatBackupPath(location)} does not respond: check BACKUP_DIR and ${what}`)
    })
  }

  async function read(): Promise<BackupState> {
    const newest = await findNewest().catch((error: Error) => error)
    if (newest instanceof Error) return failing(describeStoreError(location, newest))
    const newestAt = newest?.at ?? null
    if (config.backupSchedule === null) return { newestAt, isScheduled: false, fault: null }
    const run = runs.get(BACKUP_JOB)
    // A failed run may have written an incomplete backup.
    const hasRecovered = run && newestAt !== null && newestAt.getTime() > run.at.getTime() + run.ms
    const error = hasRecovered ? null : (run?.error ?? null)
    const problem = error ?? describeOverdue(newest) ?? (await targetProblem())
    return { newestAt, isScheduled: true, fault: problem }
  }

  function failing(fault: string): BackupState {
    const isScheduled = config.backupSchedule !== null
    return { newestAt: null, isScheduled, fault: isScheduled ? fault : null }
  }

  function describeOverdue(newest: { at: Date } | null): string | null {
    const due = missedSince(config, newest)
    if (due === null || Date.now() < due.getTime() + GRACE_MS) return null
    return `the backup due at ${due.toISOString()} was not written`
  }
}

/** When the first missed backup was due. Null with several instances, which may have written it to another disk. */
function missedSince(
  { backupSchedule, databaseUrl, backupDir }: Config,
  newest: { at: Date } | null,
): Date | null {
  const isElsewhere = databaseUrl !== null && (backupDir === null || typeof backupDir === 'string')
  if (backupSchedule === null || newest === null || isElsewhere) return null
  const due = Bun.cron.parse(backupSchedule, newest.at, { tz: 'UTC' })
  return due !== null && due.getTime() <= Date.now() ? due : null
}

function cached<T>(
  read: () => Promise<T>,
  computeLifetime: (value: T) => number,
): () => Promise<T> {
  let last: { at: number; value: T } | null = null
  return async () => {
    const at = performance.now()
    if (last === null || at - last.at >= computeLifetime(last.value))
      last = { at, value: await read() }
    return last.value
  }
}

/** Warns when the server starts, not hours later at the first scheduled backup. */
export async function warnIfTargetUnwritable(config: Config, log: Log) {
  if (config.backupSchedule === null) return
  const problem = await probeTarget(locateBackups(config))
  if (problem !== null) log.warn(`scheduled backups will fail: ${problem}`)
}

export async function probeTarget(location: BackupLocation): Promise<string | null> {
  if (typeof location !== 'string') {
    const stored = createS3Client(location).put('.homeport-probe', new Blob(['probe']))
    return stored.then(
      () => null,
      (error) => describeStoreError(location, error),
    )
  }
  const path = join(location, `.homeport-probe-${process.pid}`)
  try {
    await makeFolder(location)
    await writeFile(path, '', { mode: 0o600 })
    await rm(path)
    return null
  } catch (error) {
    const { code } = error as { code?: string }
    return `${location} is not writable (${code}): check BACKUP_DIR, its disk and its owner`
  }
}

function describeStoreError(location: BackupLocation, error: Error): string {
  return `${formatBackupPath(location)} cannot be used: ${describeForOperator(error).replace(/\.$/, '')}`
}
