import { constants, existsSync, statSync } from 'node:fs'
import { access, mkdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Config } from '../config.ts'
import { CommandError } from '../lib/command.ts'
import { describeFull, freeSpace } from '../lib/free-space.ts'
import { userName } from '../lib/user-name.ts'
import { DatabaseRefusal } from '../platform/db/postgres/migrate.ts'
import { takeLock } from '../platform/db/sqlite/lock.ts'
import { openingFault } from '../platform/db/sqlite/storage-error.ts'
import { databasePath } from './open-sqlite.ts'

/** With less free space not even the database can be opened. */
const MIN_START_BYTES = 1024 * 1024

/** Throws unless `DATA_DIR` holds data that this user may work with: only `serve` and `init` make some. */
export async function requireData(config: Config) {
  const { dataDir, databaseUrl } = config
  // The server has them; the directory is for work under way.
  if (databaseUrl !== null) return
  const found = await stat(databasePath(config)).catch(async (error) => {
    if (codeOf(error) === 'ENOENT') return null
    throw await asDataError(error, config)
  })
  if (found === null) {
    throw new CommandError(
      `There is no data in ${dataDir}: set DATA_DIR to the data directory of the server, or run "homeport init" to make one.`,
    )
  }
  await requireOwner(dataDir, found.uid)
}

/** What root leaves in the directory of another user, that user cannot write. Others cannot leave anything there. */
async function requireOwner(dataDir: string, uid: number) {
  if (uid === 0 || process.getuid?.() !== 0) return
  throw new CommandError(foreign(dataDir, uid))
}

/** Takes the data directory for this process, or says who has it. */
export async function lockData({ dataDir }: Config): Promise<Disposable> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  await requireOwner(dataDir, (await stat(dataDir)).uid)
  await access(dataDir, constants.W_OK)
  const lock = takeLock(join(dataDir, 'homeport.lock'))
  if (lock) return lock
  throw new CommandError(
    `another homeport is using ${dataDir}: stop it first ("homeport status" shows it)`,
  )
}

/** What the file system says of the data directory, in a sentence; anything else stays as it is. */
export async function asDataError(error: unknown, { dataDir }: Config): Promise<unknown> {
  if (error instanceof CommandError) return error
  if (error instanceof DatabaseRefusal) return new CommandError(error.message)
  const fault = openingFault(error)
  if (fault === null) return error
  if (fault.kind === 'read_only') {
    return new CommandError(`${dataDir} is read-only: mount its disk writable and start again.`)
  }
  if (fault.kind === 'full' || (await isFull(dataDir))) {
    const { state, advice } = await describeFull(dataDir)
    return new CommandError(`The disk of ${dataDir} ${state}: ${advice} and start again.`)
  }
  const owner = ownerOf(dataDir)
  if (owner !== null && owner !== process.getuid?.())
    return new CommandError(foreign(dataDir, owner))
  return new CommandError(`${dataDir} cannot be written (${fault.code}): check its owner and mode`)
}

/** Who owns a folder, or the closest one around it that this user can see. */
function ownerOf(path: string): number | null {
  try {
    return statSync(path).uid
  } catch {
    const parent = dirname(path)
    return parent === path ? null : ownerOf(parent)
  }
}

function foreign(dataDir: string, uid: number): string {
  const owner = userName(uid)
  return `${dataDir} belongs to ${owner}: run this as ${owner}, such as with "sudo -u ${owner} DATA_DIR=${dataDir} homeport …".`
}

/** The database does not always say why it could not write. */
async function isFull(dataDir: string): Promise<boolean> {
  if (!existsSync(dataDir)) return false
  const { bytes, inodes } = await freeSpace(dataDir)
  return bytes < MIN_START_BYTES || inodes === 0
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown }).code ?? error)
}

const ALL_MAY_WRITE = 0o002

/** A sentence for each of our folders in which every user of this machine could replace our files. */
export function openFolders({ dataDir, backupDir, nativeDir }: Config): string[] {
  const folders = [dataDir, backupDir, nativeDir].filter((path) => path !== null)
  return folders
    .filter((path) => modeOf(path) & ALL_MAY_WRITE)
    .map((path) => `Every user of this machine may write to ${path}: run "chmod o-w ${path}".`)
}

/** 0 where there is no such folder: whoever needs it says so, and some can do without. */
function modeOf(path: string): number {
  try {
    return statSync(path).mode
  } catch {
    return 0
  }
}
