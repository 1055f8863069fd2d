import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../config/config.ts'
import { AppError } from '../../lib/errors.ts'
import { setNativeDir } from '../../lib/files/native.ts'
import type { Log } from '../../lib/log/log.ts'
import type { HostState } from '../../operations/host-state.ts'
import type { FeatureOverrides } from '../../server/features.ts'
import { readPegs, seed } from '../../server/seed.ts'
import { createServices, type ServicesDeps } from '../../server/services.ts'
import { createBackupState } from '../backup/jobs.ts'
import { finishRestore, removeLeftovers } from '../backup/replace-data.ts'
import { programCommand } from '../processes/program-command.ts'
import { asCommandError, lockData } from './data-directory.ts'
import type { SchemaChange } from './engine.ts'
import { DatabaseUnreachable, openPostgres } from './open-postgres.ts'
import { openSqlite } from './open-sqlite.ts'

type Overrides = FeatureOverrides &
  Pick<
    ServicesDeps,
    | 'now'
    | 'passwordCost'
    | 'passwordQueueLimit'
    | 'servingSince'
    | 'backups'
    | 'liveLines'
    | 'jobRuns'
  > &
  Partial<Pick<HostState, 'certificate'>>

/** `wasMigrated`: this process has already migrated the schema. */
type OpenOptions = { newSecrets?: boolean; schema?: SchemaChange; wasMigrated?: boolean }

/**
 * Locks the data directory, creates what is missing, and builds the services. Migrates only if `schema` allows it.
 * Without `newSecrets`, refuses a database whose secrets are missing.
 */
export async function openData(
  config: Config,
  log: Log,
  overrides: Overrides = {},
  options: OpenOptions = {},
) {
  try {
    return await openLocked(config, log, overrides, options)
  } catch (error) {
    throw await asCommandError(firstFailure(error), config)
  }
}

async function openLocked(
  config: Config,
  log: Log,
  overrides: Overrides,
  { newSecrets = false, schema = 'create', wasMigrated = false }: OpenOptions,
) {
  await using opening = new AsyncDisposableStack()
  // Only this user may read our files, whatever umask the terminal or service manager has set.
  process.umask(0o077)
  opening.use(await lockData(config))
  await (config.databaseUrl === null ? finishRestore : removeLeftovers)(config.dataDir)
  const { dataDir, databaseUrl } = config
  const { certificate = null, ...serviceOverrides } = overrides
  const engine =
    databaseUrl === null
      ? await openSqlite(config, log, newSecrets, schema)
      : await openPostgres(config, log, schema)
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
    secrets: engine.secrets,
    imageCommand: programCommand('image-worker', nativeDir, String(dataOwner)),
    host: { certificate, backup: createBackupState(config, serviceOverrides.jobRuns) },
    ...serviceOverrides,
  })
  opening.defer(() => services.imageQueue.stop())
  opening.defer(() => services.mailer.close())
  opening.defer(async () => void (await services.stopQueues()))
  await seed(services)
  await services.users.clearUnreadableSecrets(replaced.map(({ name }) => name))
  if (migrated.length > 0 || wasMigrated) {
    for (const userId of await services.accounts.rebuildEmailKeys()) {
      log.warn({ userId }, 'another user has the same e-mail address')
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

/** The original failure: closing afterwards may have failed for the same reason. */
function firstFailure(error: unknown): unknown {
  return error instanceof SuppressedError ? firstFailure(error.suppressed) : error
}

const RETRY_MS = 500

/** Retries opening the data while its database server cannot be reached and `isWaiting()` is true. */
export async function waitForDatabase<T>(
  { databaseUrl }: Config,
  log: Log,
  isWaiting: () => boolean,
  open: () => Promise<T>,
): Promise<T> {
  for (let isFirst = true; ; isFirst = false) {
    try {
      return await open()
    } catch (error) {
      if (databaseUrl === null || !isUnreachable(error) || !isWaiting()) throw error
      if (isFirst) log.warn(`${(error as Error).message} Waiting for it.`)
    }
    await Bun.sleep(RETRY_MS)
  }
}

/** Includes connections lost later, and a server that has become a standby. */
export function isUnreachable(error: unknown): boolean {
  if (error instanceof DatabaseUnreachable) return true
  return error instanceof AppError && error.code === 'unavailable'
}
