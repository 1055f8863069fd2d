import { existsSync } from 'node:fs'
import { chmod, copyFile, readdir, rename, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { Config } from '../../config/config.ts'
import { KINDS } from '../../features/changes/streams.ts'
import { CommandError, UsageError } from '../../lib/command.ts'
import { renameDurably, syncPath } from '../../lib/files/durable-file.ts'
import { AFTER_MIGRATION } from '../../lib/files/replaced-data.ts'
import { DAY_MS } from '../../lib/time/durations.ts'
import { formatTimestamp } from '../../lib/time/parse-time.ts'
import { checkpointLog } from '../../platform/db/sqlite/open.ts'
import { recordRestore } from '../../platform/db/sqlite/record-restore.ts'
import type { Job } from '../../platform/jobs/jobs.ts'
import { takeDataLock } from './data-directory.ts'
import { databasePath } from './open-sqlite.ts'

/** Snapshots still contain users who have been deleted since. */
const RETENTION_MS = 30 * DAY_MS
const NAME = /^before-migration-(\d+)-(\d+)\.db$/

type Snapshot = { path: string; migration: number; at: Date }

export async function listSnapshots({ dataDir }: Config): Promise<Snapshot[]> {
  const folder = join(dataDir, 'snapshots')
  const names = await readdir(folder).catch(() => [])
  return names
    .flatMap((name) => {
      const [, migration, ms] = NAME.exec(name) ?? []
      if (!migration || !ms) return []
      return [{ path: join(folder, name), migration: Number(migration), at: new Date(Number(ms)) }]
    })
    .toSorted((a, b) => b.at.getTime() - a.at.getTime())
}

/** The snapshot with this name, or the newest one. Throws `UsageError` when there is none. */
export async function findSnapshot(config: Config, name: string | null): Promise<Snapshot> {
  const snapshots = await listSnapshots(config)
  const found = snapshots.find(({ path }) => name === null || basename(path) === basename(name))
  if (found) return found
  const names = snapshots.map(({ path }) => basename(path))
  throw new UsageError(
    names.length === 0
      ? `There is no snapshot in ${config.dataDir}: restore a backup instead.`
      : `There is no snapshot ${name}: use one of ${names.join(', ')}.`,
  )
}

/** Replaces the database; no server may be using it. Returns where the old one was moved, or null if there was none. */
export async function restoreSnapshot(
  config: Config,
  { path: snapshot, migration }: Snapshot,
): Promise<string | null> {
  using lock = takeDataLock(config.dataDir)
  if (lock === null) throw new CommandError(`A server is using ${config.dataDir}: stop it first.`)
  const path = databasePath(config)
  const incoming = `${path}.incoming`
  // The log of an earlier copy must not be applied to this one.
  for (const suffix of ['-wal', '-shm']) await rm(incoming + suffix, { force: true })
  await copyFile(snapshot, incoming)
  recordRestore(incoming, KINDS)
  await chmod(incoming, 0o600)
  await syncPath(incoming)
  const hasDatabase = existsSync(path)
  const replacedName = `${AFTER_MIGRATION}${migration}-${formatTimestamp(new Date())}`
  const replacedDatabase = join(config.dataDir, replacedName)
  if (hasDatabase) {
    try {
      checkpointLog(path)
    } catch {
      // A damaged database is moved aside with its log.
    }
  }
  // Move the database first: without it nothing starts, but without its log it would silently lose its last changes.
  for (const suffix of ['', '-wal', '-shm']) {
    if (existsSync(path + suffix)) await rename(path + suffix, replacedDatabase + suffix)
  }
  await renameDurably(incoming, path)
  return hasDatabase ? replacedDatabase : null
}

export function snapshotJobs(config: Config): Job[] {
  return [
    {
      name: 'old snapshots',
      schedule: ['50 3 * * *'],
      run,
      runsOnEveryInstance: true,
      deletesByAge: true,
    },
  ]

  async function run() {
    for (const { path, at } of await listSnapshots(config)) {
      if (Date.now() - at.getTime() > RETENTION_MS) await rm(path)
    }
  }
}
