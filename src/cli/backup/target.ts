import { lstat, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve } from 'node:path'
import type { Config } from '../../config/config.ts'
import { isUnexpanded } from '../../config/read-settings.ts'
import { CommandError, UsageError } from '../../lib/command.ts'
import { confirmRisk } from '../terminal.ts'
import {
  type BackupLocation,
  backupExists,
  backupName,
  formatBackupPath,
  locateBackups,
} from './backups.ts'

/** Names contain the time in whole seconds. */
const NAME_RESOLUTION_MS = 1000
/** Two backups at once need two names. A store that reports every name as taken must not cause an endless loop. */
const MAX_NAMES_TAKEN = 3

export type Target = { location: BackupLocation; name: string }

/** A new name in the configured location or the folder `out`, or the file `out`. Throws `UsageError` for a bad path. */
export async function chooseTarget(
  config: Config,
  out: string | null,
  isEncrypted: boolean,
  isConfirmed: boolean,
): Promise<Target> {
  if (out === null) return unusedName(locateBackups(config), isEncrypted)
  if (/^s3:/i.test(out))
    throw new UsageError('--out takes a path: set BACKUP_DIR to write to an object store.')
  if (isUnexpanded(out))
    throw new UsageError(
      `${out} contains "~" or "$", which the shell did not expand: write the full path.`,
    )
  const path = (await isFolder(out))
    ? formatTarget(await unusedName(resolve(out), isEncrypted))
    : await confirmReplacement(resolve(out), isConfirmed)
  await assertOutsideDataDir(config.dataDir, path)
  return { location: dirname(path), name: basename(path) }
}

/** Whether `--out` names a folder: one that exists, or any path that ends with `/`. */
export async function isFolder(out: string): Promise<boolean> {
  return out.endsWith('/') || ((await stat(out).catch(() => null))?.isDirectory() ?? false)
}

export function formatTarget({ location, name }: Target): string {
  return formatBackupPath(location, name)
}

async function unusedName(location: BackupLocation, isEncrypted: boolean): Promise<Target> {
  for (let tries = 0; tries < MAX_NAMES_TAKEN; tries++) {
    const name = backupName(new Date(), isEncrypted)
    if (!(await backupExists(location, name))) return { location, name }
    await Bun.sleep(NAME_RESOLUTION_MS)
  }
  throw new CommandError(
    `${formatBackupPath(location)} reports every name as taken: check that BACKUP_DIR names a working object store.`,
  )
}

/** Asks before replacing a file, which must be a regular one. Throws `UsageError` in scripts without `--yes`. */
export async function confirmReplacement(path: string, isConfirmed: boolean): Promise<string> {
  const found = await lstat(path).catch(() => null)
  if (found === null) return path
  if (!found.isFile()) {
    throw new UsageError(
      `${path} is ${found.isSymbolicLink() ? 'a symbolic link' : 'not a regular file'} and will not be replaced: choose another --out.`,
    )
  }
  if (!isConfirmed) confirmRisk(`${path} exists and will be replaced.`)
  return path
}

/** Inside the data directory, backups belong in `backups/`; everything else belongs to the server. */
async function assertOutsideDataDir(dataDir: string, path: string) {
  const place = relative(await realPath(dataDir), await realPath(path))
  const isInside = place !== '..' && !place.startsWith('../')
  if (!isInside || place.startsWith('backups/')) return
  throw new UsageError(
    `${path} is inside DATA_DIR: use ${join(dataDir, 'backups')}/ or a folder elsewhere.`,
  )
}

/** Resolves symbolic links, even when the end of the path does not exist yet. */
async function realPath(path: string): Promise<string> {
  const parent = dirname(path)
  if (parent === path) return path
  return realpath(path).catch(async () => join(await realPath(parent), basename(path)))
}
