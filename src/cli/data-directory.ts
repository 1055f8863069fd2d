import { constants, existsSync, statSync } from 'node:fs'
import { access, mkdir, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Config } from '../config.ts'
import { describeFull, freeSpace } from '../lib/free-space.ts'
import type { Log } from '../lib/log.ts'
import { setNativeDir } from '../lib/native.ts'
import { userName } from '../lib/user-name.ts'
import { DatabaseRefusal } from '../platform/db/postgres/migrate.ts'
import { takeLock } from '../platform/db/sqlite/lock.ts'
import { openingFault } from '../platform/db/sqlite/storage-error.ts'
import { loadSecrets, type SecretName } from '../secrets.ts'
import { readPegs, seed } from '../server/seed.ts'
import { createServices, type Services, type ServicesDeps } from '../server/services.ts'
import type { HostState } from '../usecases/monitoring/host-state.ts'
import { finishRestore } from './backup/replace-data.ts'
import { createBackupState } from './backup/timers.ts'
import { DataError } from './data-error.ts'
import type { SchemaChange } from './engine.ts'
import { openPostgres } from './open-postgres.ts'
import { databasePath, openSqlite } from './open-sqlite.ts'
import { programCommand } from './self-command.ts'

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
  | 'passwordQueueLimit'
  | 'servingSince'
  | 'backups'
  | 'liveLines'
  | 'timerRuns'
> &
  Partial<Pick<HostState, 'certificate'>>

/**
 * Locks the data directory, makes what it lacks, and builds the services over it. A schema is migrated only where
 * `schema` says so. With `newSecrets` lost ones are replaced, else a database that had them is refused without them.
 */
export async function openData(
  config: Config,
  log: Log,
  overrides: Overrides = {},
  options: { newSecrets?: boolean; schema?: SchemaChange } = {},
): Promise<Data> {
  try {
    return await openLocked(config, log, overrides, options)
  } catch (error) {
    throw await asDataError(firstOf(error), config)
  }
}

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
    throw new DataError(
      `There is no data in ${dataDir}: set DATA_DIR to the data directory of the server, or run "homeport init" to make one.`,
    )
  }
  await requireOwner(dataDir, found.uid)
}

/** What root leaves in the directory of another user, that user cannot write. Others cannot leave anything there. */
async function requireOwner(dataDir: string, uid: number) {
  if (uid === 0 || process.getuid?.() !== 0) return
  throw new DataError(foreign(dataDir, uid))
}

async function openLocked(
  config: Config,
  log: Log,
  overrides: Overrides,
  { newSecrets = false, schema = 'create' }: { newSecrets?: boolean; schema?: SchemaChange },
): Promise<Data> {
  await using opening = new AsyncDisposableStack()
  // What we make is for our own eyes, whatever the terminal or the service manager says.
  process.umask(0o077)
  opening.use(await lockData(config))
  if (config.databaseUrl === null) await finishRestore(config.dataDir)
  const { dataDir, databaseUrl } = config
  const { certificate = null, ...given } = overrides
  const engine =
    databaseUrl === null
      ? await openSqlite(config, log, newSecrets, schema)
      : await openPostgres(config, schema)
  opening.use(engine)
  const { db, migrated, replaced } = engine
  const nativeDir = config.nativeDir ?? join(dataDir, 'native')
  const dataOwner = (await stat(dataDir)).uid
  setNativeDir(nativeDir, dataOwner)
  const services = await createServices({
    config,
    db,
    log,
    pegs: await readPegs(),
    secrets: await loadSecrets(engine.keep),
    imageCommand: programCommand('image-worker', nativeDir, String(dataOwner)),
    host: { certificate, backup: createBackupState(config, given.timerRuns) },
    ...given,
  })
  opening.defer(() => services.imageQueue.stop())
  opening.defer(() => services.mailer.close())
  opening.defer(() => services.outbox.stop())
  opening.defer(() => services.backlog.stop())
  await seed(services)
  await services.users.clearUnreadableSecrets(replaced.map(({ name }) => name))
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
async function asDataError(error: unknown, { dataDir }: Config): Promise<unknown> {
  if (error instanceof DataError) return error
  if (error instanceof DatabaseRefusal) return new DataError(error.message)
  const fault = openingFault(error)
  if (fault === null) return error
  if (fault.kind === 'read_only') {
    return new DataError(`${dataDir} is read-only: mount its disk writable and start again.`)
  }
  if (fault.kind === 'full' || (await isFull(dataDir))) {
    const { state, advice } = await describeFull(dataDir)
    return new DataError(`The disk of ${dataDir} ${state}: ${advice} and start again.`)
  }
  const owner = ownerOf(dataDir)
  if (owner !== null && owner !== process.getuid?.()) return new DataError(foreign(dataDir, owner))
  return new DataError(`${dataDir} cannot be written (${fault.code}): check its owner and mode`)
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

/** What went wrong first: closing what was open may have failed for the same reason. */
function firstOf(error: unknown): unknown {
  return error instanceof SuppressedError ? firstOf(error.suppressed) : error
}

function codeOf(error: unknown): string {
  return String((error as { code?: unknown }).code ?? error)
}
