import { existsSync } from 'node:fs'
import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../config/config.ts'
import { createS3Client } from '../../features/attachments/storage/s3/client.ts'
import { HOUR_MS } from '../../lib/time/durations.ts'
import { formatTimestamp } from '../../lib/time/parse-time.ts'
import { abortUploads, BACKUP_PREFIX, type Bucket, bucketPath } from './store/bucket.ts'

export type BackupLocation = string | Bucket
type StoredBackup = { name: string; path: string; bytes: number; at: Date }

const CLOCK_SLACK_MS = HOUR_MS
const BACKUP_NAME = /^homeport-\d{8}T\d{6}Z\.tar(\.age)?$/
/** Earlier versions used the suffix `.partial`. */
const UNFINISHED = /^homeport-\d{8}T\d{6}Z\.tar(\.age)?\.(homeport-)?partial$/

/** The path of a backup until it is complete. Nothing else uses this suffix. */
export function unfinishedPath(path: string): string {
  return `${path}.homeport-partial`
}

export function locateBackups({ backupDir, backupS3, dataDir }: Config): BackupLocation {
  if (backupDir === null) return join(dataDir, 'backups')
  return typeof backupDir === 'string' ? backupDir : { ...backupDir, ...backupS3 }
}

/** The path of a backup, or of its location, as operators see it. */
export function formatBackupPath(location: BackupLocation, name = ''): string {
  return typeof location === 'string' ? join(location, name) : bucketPath(location, name)
}

export async function backupExists(location: BackupLocation, name: string): Promise<boolean> {
  if (typeof location === 'string') return existsSync(join(location, name))
  return (await createS3Client(location).head(name)) !== null
}

/** The name of a backup made at `now`. Names sort by time. */
export function backupName(now: Date, isEncrypted: boolean): string {
  return `homeport-${formatTimestamp(now)}.tar${isEncrypted ? '.age' : ''}`
}

/** The backups in a location, newest first. Ignores files with other names. Throws if the bucket does not respond. */
export async function listBackups(location: BackupLocation): Promise<StoredBackup[]> {
  const found = await (typeof location === 'string' ? listFolder(location) : listBucket(location))
  return found
    .filter(({ name }) => BACKUP_NAME.test(name))
    .toSorted((a, b) => (a.name < b.name ? 1 : -1))
}

async function listBucket(bucket: Bucket): Promise<StoredBackup[]> {
  // A folder such as `homeport-files/` may hold millions of objects.
  const found = await Array.fromAsync(createS3Client(bucket).list(BACKUP_PREFIX, '/'))
  return found.map(({ key, size, lastModified }) => {
    return { name: key, path: bucketPath(bucket, key), bytes: size, at: lastModified }
  })
}

async function listFolder(folder: string): Promise<StoredBackup[]> {
  const names = await readdir(folder).catch(() => [])
  const backups = await Promise.all(
    names.map(async (name) => {
      const path = join(folder, name)
      const stats = await stat(path).catch(() => null)
      return stats && { name, path, bytes: stats.size, at: stats.mtime }
    }),
  )
  // Another process may have removed a backup in the meantime.
  return backups.filter((backup) => backup !== null)
}

export async function newestBackup(config: Config) {
  const backups = await listBackups(locateBackups(config))
  return backups.find(isPlausiblyDated) ?? null
}

/** False for a backup that a wrong clock dated in the future: it would stay newest for years. */
function isPlausiblyDated({ at }: { at: Date }): boolean {
  return at.getTime() <= Date.now() + CLOCK_SLACK_MS
}

/** Removes all but the newest `keep` backups in a location. Returns the removed paths. */
export async function removeOldBackups(location: BackupLocation, keep: number): Promise<string[]> {
  const old = (await listBackups(location)).filter(isPlausiblyDated).slice(keep)
  for (const { name, path } of old)
    await (typeof location === 'string'
      ? rm(path, { force: true })
      : createS3Client(location).remove(name))
  return old.map(({ path }) => path)
}

/** The paths of backups that are being written or were interrupted. */
export async function listUnfinished(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => [])
  return names.filter((name) => UNFINISHED.test(name)).map((name) => join(folder, name))
}

/** Removes the leftovers of backups that were interrupted at least `ageMs` ago. */
export async function removeUnfinished(location: BackupLocation, ageMs: number) {
  // Best effort: the access key might lack permission to list uploads.
  if (typeof location !== 'string')
    return abortUploads(location, (name) => BACKUP_NAME.test(name), ageMs).catch(() => {})
  for (const path of await listUnfinished(location)) {
    const writtenAt = (await stat(path).catch(() => null))?.mtimeMs
    if (writtenAt !== undefined && Date.now() - writtenAt >= ageMs) await rm(path, { force: true })
  }
}
