import { existsSync } from 'node:fs'
import { lstat, realpath, stat } from 'node:fs/promises'
import { basename, dirname, join, relative, resolve } from 'node:path'
import type { Config } from '../../config.ts'
import { UsageError } from '../../lib/command.ts'
import { confirmRisk } from '../terminal.ts'
import { backupDirOf, backupName } from './backups.ts'

/** After so many ms the time in a name is another one. */
const NAME_CHANGES = 1000

/**
 * The path of the backup that is written next: of a new file in the folder of backups or in `out`, a folder, or `out`
 * itself, a file that is replaced only when that is confirmed. Throws `UsageError` for a place that must not be used.
 */
export async function chooseTarget(
  config: Config,
  out: string | null,
  isEncrypted: boolean,
  isConfirmed: boolean,
): Promise<string> {
  if (out === null) return unusedName(backupDirOf(config), isEncrypted)
  const path = (await isFolder(out))
    ? await unusedName(resolve(out), isEncrypted)
    : await replaceable(resolve(out), isConfirmed)
  await refuseInside(config.dataDir, path)
  return path
}

async function isFolder(out: string): Promise<boolean> {
  return out.endsWith('/') || ((await stat(out).catch(() => null))?.isDirectory() ?? false)
}

async function unusedName(folder: string, isEncrypted: boolean): Promise<string> {
  for (;;) {
    const path = join(folder, backupName(new Date(), isEncrypted))
    if (!existsSync(path)) return path
    await Bun.sleep(NAME_CHANGES)
  }
}

async function replaceable(path: string, isConfirmed: boolean): Promise<string> {
  const found = await lstat(path).catch(() => null)
  if (found === null) return path
  if (!found.isFile()) {
    throw new UsageError(
      `${path} is ${found.isSymbolicLink() ? 'a symbolic link' : 'no regular file'} and is not replaced: take another --out.`,
    )
  }
  if (!isConfirmed) confirmRisk(`${path} is there and is replaced.`)
  return path
}

/** Whatever else is in the data directory is the server's own. */
async function refuseInside(dataDir: string, path: string) {
  const place = relative(await realPath(dataDir), await realPath(path))
  const isInside = place !== '..' && !place.startsWith('../')
  if (!isInside || place.startsWith('backups/')) return
  throw new UsageError(
    `${path} is inside of DATA_DIR: take ${join(dataDir, 'backups')}/ or a place elsewhere.`,
  )
}

/** Without symbolic links, also where the end of the path is still to be made. */
async function realPath(path: string): Promise<string> {
  const parent = dirname(path)
  if (parent === path) return path
  return realpath(path).catch(async () => join(await realPath(parent), basename(path)))
}
