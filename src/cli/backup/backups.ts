import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../config.ts'
import { HOUR_MS } from '../../lib/durations.ts'
import { timeStamp } from '../../lib/time-stamp.ts'

const CLOCK_SLACK_MS = HOUR_MS
const NAME = /^homeport-\d{8}T\d{6}Z\.tar(\.age)?$/
/** Earlier versions used the suffix `.partial`. */
const UNFINISHED = /^homeport-\d{8}T\d{6}Z\.tar(\.age)?\.(homeport-)?partial$/

/** The path of a backup until it is complete. Nothing else uses this suffix. */
export function unfinishedName(path: string): string {
  return `${path}.homeport-partial`
}

/** The default folder of backups. */
export function backupDirOf({ backupDir, dataDir }: Config): string {
  return backupDir ?? join(dataDir, 'backups')
}

/** The name of a backup made at `now`. Names sort by time. */
export function backupName(now: Date, isEncrypted: boolean): string {
  return `homeport-${timeStamp(now)}.tar${isEncrypted ? '.age' : ''}`
}

/** The backups in a folder, newest first. Files with other names are ignored. */
export async function listBackups(
  folder: string,
): Promise<{ path: string; bytes: number; at: Date }[]> {
  const names = await readdir(folder).catch(() => [])
  const found = names
    .filter((name) => NAME.test(name))
    .toSorted()
    .toReversed()
  const backups = await Promise.all(
    found.map(async (name) => {
      const path = join(folder, name)
      const stats = await stat(path).catch(() => null)
      return stats && { path, bytes: stats.size, at: stats.mtime }
    }),
  )
  // Another process may have removed one in the meantime.
  return backups.filter((backup) => backup !== null)
}

/** The newest backup in the default folder; null without one. */
export async function newestBackup(config: Config) {
  const backups = await listBackups(backupDirOf(config))
  return backups.find(isPlausiblyDated) ?? null
}

/** False for a backup that a wrong clock dated in the future: it would stay newest for years. */
function isPlausiblyDated({ at }: { at: Date }): boolean {
  return at.getTime() <= Date.now() + CLOCK_SLACK_MS
}

/** Removes all but the newest `keep` backups in a folder. Returns the removed paths. */
export async function removeOldBackups(folder: string, keep: number): Promise<string[]> {
  const old = (await listBackups(folder)).filter(isPlausiblyDated).slice(keep)
  for (const { path } of old) await rm(path, { force: true })
  return old.map(({ path }) => path)
}

/** The paths of backups that are being written or were interrupted. */
export async function listUnfinished(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => [])
  return names.filter((name) => UNFINISHED.test(name)).map((name) => join(folder, name))
}

/** Removes the leftovers of backups that were interrupted at least `ageMs` ago from a folder. */
export async function removeUnfinished(folder: string, ageMs: number) {
  for (const path of await listUnfinished(folder)) {
    const writtenAt = (await stat(path).catch(() => null))?.mtimeMs
    if (writtenAt !== undefined && Date.now() - writtenAt >= ageMs) await rm(path, { force: true })
  }
}
