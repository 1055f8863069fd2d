import { constants, existsSync, statSync } from 'node:fs'
import { access, mkdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../config/config.ts'
import { CommandError } from '../../lib/command.ts'
import { tryTo } from '../../lib/errors.ts'
import { describeFullDisk, freeSpace } from '../../lib/files/free-space.ts'
import { findMount } from '../../lib/files/mounts.ts'
import { findFileOwner, userName } from '../../lib/text/user-name.ts'
import { takeLock } from '../../platform/db/sqlite/lock.ts'
import { classifyOpenError } from '../../platform/db/sqlite/storage-error.ts'
import { readServiceRecord } from '../service/service-record.ts'
import { databasePath } from './open-sqlite.ts'

/** With less free space the database cannot even be opened. */
const MIN_START_BYTES = 1024 * 1024

/** Throws unless the current user may use the configured data. Only `serve` and `init` create it. */
export async function requireData(config: Config) {
  // The database server has the data; the directory holds temporary files only.
  if (config.databaseUrl !== null) return requireOwnDirectory(config)
  assertNotServiceDatabase(config)
  await requireDatabaseFile(config)
}

/** Throws if the service uses a database server, because a SQLite file here would be out of date. */
export function assertNotServiceDatabase({ dataDir, databaseUrl }: Config) {
  const place = readServiceRecord(dataDir)?.database ?? null
  if (place === null || databaseUrl !== null) return
  throw new CommandError(
    `The service that uses ${dataDir} stores its data in ${place}: set DATABASE_URL for this command. To use SQLite instead, start the server once without DATABASE_URL.`,
  )
}

/** Throws unless `DATA_DIR` has a SQLite database that this user may use. */
export async function requireDatabaseFile(config: Config) {
  const { dataDir } = config
  const found = await stat(databasePath(config)).catch(async (error) => {
    if (readCode(error) === 'ENOENT') return null
    throw await asCommandError(error, config)
  })
  if (found === null) {
    throw new CommandError(
      `There is no data in ${dataDir}: set DATA_DIR to the data directory of the server, or run "homeport init" to create one.`,
    )
  }
  await requireOwner(dataDir, found.uid)
}

/** Throws if root runs a command on another user's data directory: root does not connect to that user's server. */
export async function requireOwnDirectory({ dataDir }: Config) {
  if (existsSync(dataDir)) await requireOwner(dataDir, (await stat(dataDir)).uid)
}

/** Files that root creates in another user's directory would not be writable by that user. */
async function requireOwner(dataDir: string, uid: number) {
  if (uid === 0 || process.getuid?.() !== 0) return
  throw new CommandError(explainOwner(dataDir, uid))
}

/** Locks the data directory for this process. Throws when another one uses it. */
export async function lockData({ dataDir }: Config): Promise<Disposable> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  await requireOwner(dataDir, (await stat(dataDir)).uid)
  await access(dataDir, constants.W_OK)
  const lock = takeDataLock(dataDir)
  if (lock) return lock
  throw new CommandError(
    `Another Homeport process is using ${dataDir}: stop it first ("homeport status" shows it).`,
  )
}

/** Turns a file system or database error into a readable `CommandError`; returns other errors unchanged. */
export async function asCommandError(error: unknown, { dataDir }: Config): Promise<unknown> {
  if (error instanceof CommandError) return error
  const kind = classifyOpenError(error)
  if (kind === null) return error
  if (kind.kind === 'read_only') {
    return new CommandError(`${dataDir} is read-only: mount its disk writable and start again.`)
  }
  const type = findMount(dataDir)?.type ?? ''
  if (REMOTE.test(type) && kind.kind !== 'full' && !/^E(ACCES|PERM)$/.test(kind.code)) {
    return new CommandError(
      `${dataDir} is on a file system (${type}) without the locks or shared memory that SQLite needs (${kind.code}): use a local disk, or DATABASE_URL.`,
    )
  }
  if (kind.kind === 'busy') {
    return new CommandError(
      `Another program has locked the database in ${dataDir}: end it ("fuser ${databasePath({ dataDir })}" finds it) and start again.`,
    )
  }
  if (kind.kind === 'full' || (await isFull(dataDir))) {
    const { state, advice } = await describeFullDisk(dataDir)
    return new CommandError(`The disk that holds ${dataDir} ${state}: ${advice} and start again.`)
  }
  const owner = findFileOwner(dataDir)
  const self = process.getuid?.()
  if (owner === 0 && self) {
    const repair = describeRepair(dataDir, self)
    if (repair !== null)
      return new CommandError(
        `${repair} as root if the server runs as ${userName(self)}; otherwise, run this command as root.`,
      )
  }
  if (owner !== null && owner !== self) return new CommandError(explainOwner(dataDir, owner))
  return new CommandError(`${dataDir} is not writable (${kind.code}): check its owner and mode`)
}

/** How root can make `self` the owner of the data directory; null if `self` cannot see whether it exists. */
function describeRepair(dataDir: string, self: number): string | null {
  try {
    statSync(dataDir)
    return `${dataDir} belongs to root: run "chown -R ${self} ${dataDir}"`
  } catch (error) {
    if (readCode(error) !== 'ENOENT') return null
    return `Only root can create ${dataDir}: run "install -d -o ${self} -m 700 ${dataDir}"`
  }
}

function explainOwner(dataDir: string, uid: number): string {
  const owner = userName(uid)
  return `${dataDir} belongs to ${owner}: run this as ${owner}, for example with "sudo -u ${owner} DATA_DIR=${dataDir} ${process.execPath} …".`
}

/** Needed because the database does not always report why it could not write. */
async function isFull(dataDir: string): Promise<boolean> {
  if (!existsSync(dataDir)) return false
  const { bytes, inodes } = await freeSpace(dataDir)
  return bytes < MIN_START_BYTES || inodes === 0
}

function readCode(error: unknown): string {
  return String((error as { code?: unknown }).code ?? error)
}

const WORLD_WRITABLE = 0o002
const REMOTE = /^(nfs|cifs|smb|fuse|9p|virtiofs|ceph|gluster|lustre|afs|vboxsf)/

/** Warnings about folders that are world-writable or mounted noexec. */
export function listFolderWarnings({ dataDir, backupDir, nativeDir }: Config): string[] {
  const folders = [dataDir, backupDir, nativeDir].filter((path) => typeof path === 'string')
  const native = nativeDir ?? join(dataDir, 'native')
  const advice = `${native} is on a noexec mount, so images cannot be processed: set NATIVE_DIR to a folder on another mount.`
  const open = folders.filter((path) => readMode(path) & WORLD_WRITABLE)
  return [
    ...(findMount(native)?.isExecutable === false ? [advice] : []),
    ...open.map(
      (path) => `Every user on this machine can write to ${path}: run "chmod o-w ${path}".`,
    ),
  ]
}

/** 0 for a missing folder, which the code that needs it reports. */
function readMode(path: string): number {
  return tryTo(() => statSync(path).mode) ?? 0
}

/** Locks the data; null while a server or a command uses it. */
export function takeDataLock(dataDir: string): Disposable | null {
  return takeLock(join(dataDir, 'homeport.lock'))
}

/** Locks the folder in which backups are prepared; null while a backup is being written. */
export function takeBackupLock(dataDir: string): Disposable | null {
  return takeLock(join(dataDir, 'backup.lock'))
}
