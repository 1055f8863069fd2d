import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../config.ts'
import { HOUR_MS } from '../../lib/durations.ts'
import { timeStamp } from '../../lib/time-stamp.ts'

const CLOCK_SLACK = HOUR_MS
const NAME = /^homeport-\d{8}T\d{6}Z\.tar(\.age)?$/
/** The second is what earlier versions have left. */
const UNFINISHED = /^homeport-\d{8}T\d{6}Z\.tar(\.age)?\.(homeport-)?partial$/

/** What a backup is called until it is whole: a name that nothing else has. */
export function unfinishedName(path: string): string {
  return `${path}.homeport-partial`
}

/** Where backups go that nobody says a place for. */
export function backupDirOf({ backupDir, dataDir }: Config): string {
  return backupDir ?? join(dataDir, 'backups')
}

/** A name for a backup of `now`; names in a row are in the order of time. */
export function backupName(now: Date, isEncrypted: boolean): string {
  return `homeport-${timeStamp(now)}.tar${isEncrypted ? '.age' : ''}`
}

/** The backups in a folder, the newest first. What has another name is nobody's business here. */
export async function listBackups(
  folder: string,
): Promise<{ path: string; bytes: number; at: Date }[]> {
  const names = await readdir(folder).catch(() => [])
  const found = names
    .filter((name) => NAME.test(name))
    .toSorted()
    .toReversed()
  return Promise.all(
    found.map(async (name) => {
      const path = join(folder, name)
      const { size, mtime } = await stat(path)
      return { path, bytes: size, at: mtime }
    }),
  )
}

/** The newest backup where backups go; null without one. */
export async function newestBackup(config: Config) {
  const backups = await listBackups(backupDirOf(config))
  return backups.find(isDatedRight) ?? null
}

/** What a wrong clock has dated into the future is the newest for years: it does not tell how old backups are. */
function isDatedRight({ at }: { at: Date }): boolean {
  return at.getTime() <= Date.now() + CLOCK_SLACK
}

/** Removes all backups of a folder but the newest `keep`. Returns what was removed. */
export async function removeOldBackups(folder: string, keep: number): Promise<string[]> {
  const old = (await listBackups(folder)).filter(isDatedRight).slice(keep)
  for (const { path } of old) await rm(path, { force: true })
  return old.map(({ path }) => path)
}

/** The paths of backups that are being written, or were killed while they were. */
export async function listUnfinished(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => [])
  return names.filter((name) => UNFINISHED.test(name)).map((name) => join(folder, name))
}

/** Removes what backups that were killed have left in a folder. */
export async function removeUnfinished(folder: string) {
  for (const path of await listUnfinished(folder)) await rm(path, { force: true })
}
