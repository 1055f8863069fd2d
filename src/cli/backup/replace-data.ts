import { existsSync } from 'node:fs'
import { mkdir, readFile, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { renameDurably, syncPath, writeDurably } from '../../lib/durable-file.ts'
import { timeStamp } from '../../lib/time-stamp.ts'
import { takeLock } from '../../platform/db/sqlite/lock.ts'
import { backupFolder, gatherFolder } from './write-backup.ts'

const DATABASE = 'homeport.db'
const PARTS = [DATABASE, 'secrets', 'files']
/** The log belongs to the database that is there and goes away with it. */
const LOGS = [`${DATABASE}-wal`, `${DATABASE}-shm`]
/** Names the folder for what was there. */
const ASIDE = 'aside.txt'

/** Where an archive is read to before `commitRestore`. */
export function restoreFolder(dataDir: string): string {
  return join(dataDir, 'restore.tmp')
}

/**
 * Puts what was read into `restoreFolder` in the place of what is in `dataDir`, which is moved into the folder that
 * is returned. Once this has begun, a crash leaves the rest to `finishRestore`.
 */
export async function commitRestore(dataDir: string, now: Date): Promise<string> {
  const folder = restoreFolder(dataDir)
  const aside = unusedName(dataDir, `before-restore-${timeStamp(now)}`)
  for (const part of PARTS.slice(1))
    await mkdir(join(folder, part), { recursive: true, mode: 0o700 })
  await writeDurably(join(folder, ASIDE), aside)
  await renameDurably(folder, restoredFolder(dataDir))
  await finishRestore(dataDir)
  return join(dataDir, aside)
}

function unusedName(folder: string, name: string): string {
  for (let number = 1; ; number++) {
    const numbered = number === 1 ? name : `${name}-${number}`
    if (!existsSync(join(folder, numbered))) return numbered
  }
}

/** Ends a restore that was cut off, and removes what an undecided one or a backup has left behind. */
export async function finishRestore(dataDir: string) {
  await rm(restoreFolder(dataDir), { recursive: true, force: true })
  await removeLeftovers(dataDir)
  const restored = restoredFolder(dataDir)
  if (!existsSync(restored)) return
  const aside = join(dataDir, await readFile(join(restored, ASIDE), 'utf8'))
  await mkdir(aside, { recursive: true, mode: 0o700 })
  for (const part of PARTS) {
    // What is not there any more was moved in before the crash.
    if (!existsSync(join(restored, part))) continue
    for (const name of part === DATABASE ? [...LOGS, part] : [part]) {
      if (existsSync(join(dataDir, name))) await rename(join(dataDir, name), join(aside, name))
    }
    await rename(join(restored, part), join(dataDir, part))
  }
  for (const folder of [aside, restored, dataDir]) await syncPath(folder)
  await rm(restored, { recursive: true, force: true })
}

/** What a backup that was killed has left. One that is being written beside the server goes on. */
async function removeLeftovers(dataDir: string) {
  const left = [backupFolder(dataDir), gatherFolder(dataDir)].filter((path) => existsSync(path))
  if (left.length === 0) return
  using lock = takeLock(join(dataDir, 'backup.lock'))
  if (lock === null) return
  for (const path of left) await rm(path, { recursive: true, force: true })
}

function restoredFolder(dataDir: string): string {
  return join(dataDir, 'restored')
}
