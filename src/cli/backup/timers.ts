import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../config.ts'
import { makeFolder } from '../../lib/durable-file.ts'
import type { Log } from '../../lib/log.ts'
import type { Timer, TimerRun } from '../../lib/timer.ts'
import type { BackupState } from '../../usecases/monitoring/host-state.ts'
import { runProgram } from '../processes/program-command.ts'
import { backupDirOf, newestBackup } from './backups.ts'

const BACKUP_TIMER = 'backup'
/** A large backup takes its time. */
const GRACE = 6 * 60 * 60 * 1000
/** The folder is tried no more often than that, however often the state is asked for, in ms. */
const PROBE_EVERY = 30_000

/** Writes a backup at `BACKUP_SCHEDULE`, in a process of its own, and keeps the newest `BACKUP_KEEP`. */
export function backupTimers(config: Config, log: Log): Timer[] {
  const { backupSchedule, backupKeep, dataDir } = config
  if (backupSchedule === null) return []
  // A machine that was off at the time writes it when it is on again.
  const isDueAtStart = async () => missedSince(config, await newestBackup(config)) !== null
  return [{ name: BACKUP_TIMER, schedule: [backupSchedule], run, isDueAtStart }]

  async function run(signal: AbortSignal) {
    const options = ['--json', '--data-dir', dataDir, '--keep', String(backupKeep)]
    const { isGood, out, err } = await runProgram(['backup', ...options], signal)
    if (!isGood) throw new Error(err.trim() || 'the backup failed')
    log.info({ backup: JSON.parse(out) }, 'a backup was written')
  }
}

/** Whether backups are written as scheduled: how the timer ran last, how old the newest is, whether one can be written. */
export function createBackupState(
  config: Config,
  runs: ReadonlyMap<string, TimerRun | null> = new Map(),
): () => Promise<BackupState> {
  const targetFault = createTargetProbe(config)
  return async () => {
    const newest = await newestBackup(config)
    const newestAt = newest?.at ?? null
    if (config.backupSchedule === null) return { newestAt, isScheduled: false, fault: null }
    const run = runs.get(BACKUP_TIMER)
    const isMended = run && newestAt !== null && newestAt > run.at
    const error = isMended ? null : (run?.error ?? null)
    return { newestAt, isScheduled: true, fault: error ?? overdue(newest) ?? (await targetFault()) }
  }

  function overdue(newest: { at: Date } | null): string | null {
    const due = missedSince(config, newest)
    if (due === null || Date.now() < due.getTime() + GRACE) return null
    return `the one due at ${due.toISOString()} was not written`
  }
}

/**
 * When a backup was due after the newest one; null when none was. Of several instances the one that is free writes it: the
 * others have older ones, or none.
 */
function missedSince(
  { backupSchedule, databaseUrl }: Config,
  newest: { at: Date } | null,
): Date | null {
  if (backupSchedule === null || newest === null || databaseUrl !== null) return null
  const due = Bun.cron.parse(backupSchedule, newest.at, { tz: 'UTC' })
  return due !== null && due.getTime() <= Date.now() ? due : null
}

/** Tells why no file can be made where backups go; null when one can. */
function createTargetProbe(config: Config): () => Promise<string | null> {
  let last: { at: number; fault: Promise<string | null> } | null = null
  return () => {
    const at = performance.now()
    if (last === null || at - last.at > PROBE_EVERY)
      last = { at, fault: probe(backupDirOf(config)) }
    return last.fault
  }
}

/** Says at the start what the first run of the schedule would say hours later. */
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
