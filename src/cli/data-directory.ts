import { constants, existsSync, statfsSync } from 'node:fs'
import { access, chmod, mkdir, readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { sqliteColumns } from '../db/sqlite/columns.ts'
import { takeLock } from '../db/sqlite/lock.ts'
import { migrate, readMigrations, schemaVersion } from '../db/sqlite/migrate.ts'
import {
  appliedIn,
  copyDatabase,
  createDb,
  isReplicated,
  openDatabase,
  reasonNotToOpen,
} from '../db/sqlite/open.ts'
import { openingFault } from '../db/sqlite/storage-error.ts'
import { buildTables } from '../features.ts'
import { asset } from '../lib/asset-path.ts'
import { syncPath } from '../lib/durable-file.ts'
import type { Log } from '../lib/log.ts'
import { checkSecrets, discardBadSecrets, loadSecrets, type SecretName } from '../secrets.ts'
import { readPegs, seed } from '../seed.ts'
import { createServices, type Services, type ServicesDeps } from '../services.ts'
import { backupDirOf, listBackups } from './backup/backups.ts'
import { finishRestore } from './backup/replace-data.ts'
import { programCommand } from './self-command.ts'

/** The data directory cannot be used; the message says why and what to do. */
export class DataError extends Error {
  override readonly name = 'DataError'
}

/** With less free space not even the database can be opened. */
const MIN_START_BYTES = 1024 * 1024

export type Data = {
  services: Services
  migrated: string[]
  /** Secrets that were lost and replaced, and what that breaks. */
  newSecrets: { name: SecretName; breaks: string }[]
  [Symbol.asyncDispose](): Promise<void>
}

type Overrides = Pick<
  ServicesDeps,
  | 'now'
  | 'providers'
  | 'appleUrl'
  | 'foldingSizes'
  | 'passwordCost'
  | 'servingSince'
  | 'areCertificatesFailing'
>

/**
 * Locks the data directory, makes or migrates what is in it, and builds the services over it. With
 * `newSecrets` lost ones are replaced, else a database that had them is refused without them.
 */
export async function openData(
  config: Config,
  log: Log,
  overrides: Overrides = {},
  options: { newSecrets?: boolean } = {},
): Promise<Data> {
  try {
    return await openLocked(config, log, overrides, options)
  } catch (error) {
    throw asDataError(firstOf(error), config)
  }
}

/** Throws unless `DATA_DIR` holds data that this user may work with: only `serve` and `init` make some. */
export async function requireData(config: Config) {
  const { dataDir } = config
  const found = await stat(databasePath(config)).catch((error) => {
    if (codeOf(error) === 'ENOENT') return null
    throw asDataError(error, config)
  })
  if (found === null) {
    throw new DataError(
      `There is no data in ${dataDir}: set DATA_DIR to the data directory of the server, or run "homeport init" to make one.`,
    )
  }
  await requireOwner(dataDir, found.uid)
}

/** What root leaves in the directory of another user, that user cannot write. Others cannot leave anything there. */
async function requireOwner(dataDir: string, uid: number) {
  if (uid === 0 || process.getuid?.() !== 0) return
  const owner = await userName(uid)
  throw new DataError(
    `${dataDir} belongs to ${owner}: run this as ${owner}, such as with "sudo -u ${owner} DATA_DIR=${dataDir} homeport …".`,
  )
}

async function openLocked(
  config: Config,
  log: Log,
  overrides: Overrides,
  { newSecrets = false }: { newSecrets?: boolean },
): Promise<Data> {
  await using opening = new AsyncDisposableStack()
  // What we make is for our own eyes, whatever the terminal or the service manager says.
  process.umask(0o077)
  opening.use(await lockData(config))
  await finishRestore(config.dataDir)
  const path = databasePath(config)
  const migrations = readMigrations(asset('drizzle'))
  await refuseUnusable(config, path, await reasonNotToOpen(path, migrations))
  const secrets = join(config.dataDir, 'secrets')
  const before = existsSync(path) ? appliedIn(path) : 0
  const replaced = newSecrets ? await discardBadSecrets(secrets, before) : []
  await checkSecrets(secrets, newSecrets ? 0 : before)

  const client = openDatabase(path)
  await snapshot(config, client, migrations.length)
  const migrated = migrate(client, migrations)
  if (!config.litestream && isReplicated(client)) {
    log.warn('Litestream replicates the database: set LITESTREAM=on, or its copies get damaged')
  }
  const db = createDb(
    client,
    buildTables(sqliteColumns),
    config.litestream ? null : programCommand('checkpoint'),
  )
  opening.defer(async () => {
    await db.stopWriting('closing')
    db.close()
  })
  const services = await createServices({
    config,
    db,
    log,
    pegs: await readPegs(),
    // Secrets without a database are refused at the next start, so they are made after it.
    secrets: await loadSecrets(secrets),
    imageCommand: programCommand(
      'image-worker',
      config.nativeDir ?? join(config.dataDir, 'native'),
    ),
    newestBackupAt: async () => (await listBackups(backupDirOf(config)))[0]?.at ?? null,
    ...overrides,
  })
  opening.defer(() => services.imageQueue.stop())
  opening.defer(() => services.outbox.stop())
  opening.defer(() => services.backlog.stop())
  await seed(services)
  await services.people.clearUnreadableSecrets(replaced.map(({ name }) => name))
  if (migrated.length > 0) {
    for (const userId of await services.accounts.rebuildEmailKeys()) {
      log.warn({ userId }, 'the e-mail address of this user is the same as that of another one')
    }
  }
  const stack = opening.move()
  return {
    services,
    migrated,
    newSecrets: replaced,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

export function databasePath(config: Config): string {
  return join(config.dataDir, 'homeport.db')
}

/** How many of the program's migrations the database has had (0 without one), and all of them. */
export async function migrationStatus(
  config: Config,
): Promise<{ applied: number; known: string[] }> {
  const migrations = readMigrations(asset('drizzle'))
  const path = databasePath(config)
  await refuseUnusable(config, path, await reasonNotToOpen(path, migrations))
  const known = migrations.map(({ tag }) => tag)
  return { applied: existsSync(path) ? appliedIn(path) : 0, known }
}

/** Takes the data directory for this process, or says who has it. */
export async function lockData({ dataDir }: Config): Promise<Disposable> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 })
  await requireOwner(dataDir, (await stat(dataDir)).uid)
  await access(dataDir, constants.W_OK)
  const lock = takeLock(join(dataDir, 'homeport.lock'))
  if (lock) return lock
  throw new DataError(
    `another homeport is using ${dataDir}: stop it first ("homeport status" shows it)`,
  )
}

/** What the file system says of the data directory, in a sentence; anything else stays as it is. */
function asDataError(error: unknown, { dataDir }: Config): unknown {
  if (error instanceof DataError) return error
  const fault = openingFault(error)
  if (fault === null) return error
  if (fault.kind === 'read_only') {
    return new DataError(`${dataDir} is read-only: mount its disk writable and start again.`)
  }
  if (fault.kind === 'full' || isFull(dataDir)) {
    return new DataError(`The disk of ${dataDir} is full: free some space and start again.`)
  }
  return new DataError(`${dataDir} cannot be written (${fault.code}): check its owner and mode`)
}

/** The database does not always say why it could not write. */
function isFull(dataDir: string): boolean {
  if (!existsSync(dataDir)) return false
  const { bavail, bsize } = statfsSync(dataDir)
  return bavail * bsize < MIN_START_BYTES
}

/** What went wrong first: closing what was open may have failed for the same reason. */
function firstOf(error: unknown): unknown {
  return error instanceof SuppressedError ? firstOf(error.suppressed) : error
}

/** The name of a user as `/etc/passwd` has it, else the number. */
async function userName(uid: number): Promise<string> {
  const users = await readFile('/etc/passwd', 'utf8').catch(() => '')
  const line = users.split('\n').find((one) => one.split(':')[2] === String(uid))
  return line?.split(':')[0] ?? `user ${uid}`
}

async function refuseUnusable(config: Config, path: string, refusal: string | null) {
  if (refusal !== null) throw new DataError(refusal)
  const missing = !existsSync(path) || Bun.file(path).size === 0
  const secrets = await readdir(join(config.dataDir, 'secrets')).catch(() => [])
  if (missing && secrets.length > 0) {
    throw new DataError(
      `${path} is missing or empty though ${config.dataDir} was in use: restore it from a backup, or start in an empty DATA_DIR`,
    )
  }
}

/** Keeps a copy of the database before its schema changes. */
async function snapshot(config: Config, client: ReturnType<typeof openDatabase>, target: number) {
  const version = schemaVersion(client)
  if (version === 0 || version >= target) return
  const folder = join(config.dataDir, 'snapshots')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const path = join(folder, `before-migration-${version + 1}-${Date.now()}.db`)
  copyDatabase(client, path)
  await chmod(path, 0o600)
  await syncPath(path)
  await syncPath(folder)
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown }).code ?? error)
}
