import { existsSync, lstatSync, readFileSync, realpathSync, statSync } from 'node:fs'
import { mkdir, readFile, rename, rm, rmdir } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { CommandError } from '../../lib/command.ts'
import { renameDurably, syncPath, writeDurably } from '../../lib/files/durable-file.ts'
import { BEFORE_RESTORE } from '../../lib/files/replaced-data.ts'
import { formatTimestamp } from '../../lib/time/parse-time.ts'
import { takeBackupLock } from '../data/data-directory.ts'
import { backupFolders } from './write-backup.ts'

const DATABASE = 'homeport.db'
const PARTS = [DATABASE, 'secrets', 'files']
/** These belong to the replaced database and are moved with it. */
const WAL_FILES = [`${DATABASE}-wal`, `${DATABASE}-shm`]
/** The file that holds the name of the folder for the replaced data. */
const REPLACED_NAME_FILE = 'aside.txt'

const MOUNTS = '/proc/self/mountinfo'

/** Where an archive is extracted before `commitRestore`. */
export function extractionFolder(dataDir: string): string {
  return join(dataDir, 'restore.tmp')
}

/** Throws if a restore could not rename a part of the data: it would stop halfway. */
export function requireReplaceable(dataDir: string) {
  const mounted = PARTS.map((part) => join(dataDir, part)).find(
    (path) => existsSync(path) && isMounted(path),
  )
  if (mounted === undefined) return
  throw new CommandError(
    `${mounted} is a mount point and cannot be replaced: unmount it, restore, and then move the restored content there.`,
  )
}

function isMounted(path: string): boolean {
  // Without mountinfo, a bind mount from the same disk goes unnoticed, and a layer of an overlay looks like a mount.
  if (!existsSync(MOUNTS)) return lstatSync(path).dev !== statSync(dirname(path)).dev
  const mounts = readFileSync(MOUNTS, 'utf8').split('\n')
  const place = join(realpathSync(dirname(path)), basename(path)).replaceAll(' ', '\\040')
  return mounts.some((line) => line.split(' ')[4] === place)
}

/** Replaces the data. Returns the folder of the old data. `finishRestore` completes this after a crash. */
export async function commitRestore(dataDir: string, now: Date): Promise<string> {
  const folder = extractionFolder(dataDir)
  const replacedName = unusedName(dataDir, `${BEFORE_RESTORE}${formatTimestamp(now)}`)
  for (const part of PARTS.slice(1))
    await mkdir(join(folder, part), { recursive: true, mode: 0o700 })
  await writeDurably(join(folder, REPLACED_NAME_FILE), replacedName)
  await renameDurably(folder, committedFolder(dataDir))
  await finishRestore(dataDir)
  return join(dataDir, replacedName)
}

function unusedName(folder: string, name: string): string {
  for (let number = 1; ; number++) {
    const numbered = number === 1 ? name : `${name}-${number}`
    if (!existsSync(join(folder, numbered))) return numbered
  }
}

/** Completes an interrupted restore that was committed, and removes leftovers. */
export async function finishRestore(dataDir: string) {
  await removeLeftovers(dataDir)
  const committed = committedFolder(dataDir)
  if (!existsSync(committed)) return
  const replacedName = await readFile(join(committed, REPLACED_NAME_FILE), 'utf8')
  const replacedFolder = join(dataDir, replacedName)
  await mkdir(replacedFolder, { recursive: true, mode: 0o700 })
  for (const part of PARTS) {
    // A missing part was already moved before the crash.
    if (!existsSync(join(committed, part))) continue
    for (const name of part === DATABASE ? [...WAL_FILES, part] : [part]) {
      if (existsSync(join(dataDir, name)))
        await rename(join(dataDir, name), join(replacedFolder, name))
    }
    await rename(join(committed, part), join(dataDir, part))
  }
  for (const folder of [replacedFolder, committed, dataDir]) await syncPath(folder)
  await rm(committed, { recursive: true, force: true })
  // Succeeds only if nothing was replaced.
  await rmdir(replacedFolder).catch(() => {})
}

/** Removes the leftovers of an uncommitted restore and of an interrupted backup, but not the files of a running one. */
export async function removeLeftovers(dataDir: string) {
  await rm(extractionFolder(dataDir), { recursive: true, force: true })
  const stale = backupFolders(dataDir).filter((path) => existsSync(path))
  if (stale.length === 0) return
  using lock = takeBackupLock(dataDir)
  if (lock === null) return
  for (const path of stale) await rm(path, { recursive: true, force: true })
}

function committedFolder(dataDir: string): string {
  return join(dataDir, 'restored')
}
