import { createHash } from 'node:crypto'
import type { Config } from '../../config/config.ts'
import { loadSecrets, STORE_CLAIM } from '../../config/secrets.ts'
import { CommandError } from '../../lib/command.ts'
import type { Log } from '../../lib/log/log.ts'
import { MINUTE_MS } from '../../lib/time/durations.ts'
import { readMigrations } from '../../platform/db/migrations.ts'
import { postgresColumns } from '../../platform/db/postgres/columns.ts'
import {
  DatabaseRefusal,
  isConnectionLost,
  isRefusedCertificate,
  sqlState,
} from '../../platform/db/postgres/errors.ts'
import { countAppliedMigrations, migrate } from '../../platform/db/postgres/migrate.ts'
import { ALLOW_CHANGES, movedTo } from '../../platform/db/postgres/moved.ts'
import {
  clockSkew,
  createPostgresDb,
  openPools,
  unsafeSettings,
  withoutPassword,
} from '../../platform/db/postgres/open.ts'
import { createSharedSecrets } from '../../platform/db/postgres/shared-secrets.ts'
import { buildTables } from '../../server/declarations.ts'
import { assertSchemaChangeAllowed, type Engine, type SchemaChange } from './engine.ts'
import { describeMissingPrivileges, requirePrivileges } from './postgres-privileges.ts'

/** The setting or option that contains the URL; error messages name it. */
export type UrlSetting = 'DATABASE_URL' | '--to' | '--from'

/** The database server cannot be reached, perhaps only temporarily. */
export class DatabaseUnreachable extends CommandError {}

type ConnectOptions = {
  connections: number
  schema: SchemaChange
  /** How long a statement may take, in ms. */
  deadline?: number
  setting?: UrlSetting
  /** Only read, which is allowed even after the data was moved elsewhere. */
  readOnly?: boolean
  /** Called once if the migration must wait for other transactions. */
  onWait?: () => void
  /** How long the migration waits for them at most, in ms. */
  patience?: number
}

/** Less than a restart waits for its new process. */
const PATIENCE_MS = 5 * MINUTE_MS

/**
 * Migrates while a server of an earlier version may be running. Returns whether a migration ran. Throws `CommandError`.
 */
export async function migratePostgres(config: Config, log: Log): Promise<boolean> {
  const { migrated, close } = await connect(config, log, 'migrate', PATIENCE_MS)
  await close()
  return migrated.length > 0
}

function connect(config: Config, log: Log, schema: SchemaChange, patience?: number) {
  return connectPostgres(config.databaseUrl ?? '', config, {
    connections: config.databasePool,
    schema,
    onWait: () =>
      log.warn('the migration is waiting for a long transaction, such as a database backup'),
    ...(patience === undefined ? {} : { patience }),
  })
}

/** Connects to the server of `DATABASE_URL`, and creates or migrates its schema. */
export async function openPostgres(
  config: Config,
  log: Log,
  schema: SchemaChange,
): Promise<Engine> {
  const { db, pools, migrated, secretStore, close } = await connect(config, log, schema)
  try {
    await assertCopyFinished(db)
    const unsafe = await unsafeSettings(pools.reads)
    if (unsafe !== null) log.warn(`${db.place} has ${unsafe}`)
    const secrets = await loadSecrets(secretStore, secretStore(STORE_CLAIM))
    return { db, migrated, replaced: [], secrets, [Symbol.asyncDispose]: close }
  } catch (error) {
    await close()
    throw asCommandError(error, config.databaseUrl ?? '', 'DATABASE_URL')
  }
}

/** Updates the schema if allowed. Throws `CommandError`. */
export async function connectPostgres(url: string, { secretKey }: Config, options: ConnectOptions) {
  const { connections, schema, deadline, onWait, patience } = options
  const { setting = 'DATABASE_URL', readOnly = false } = options
  const pools = openPools(url, connections, deadline)
  try {
    if (!readOnly) assertNotMoved(withoutPassword(url), await movedTo(pools.changes.read))
    const migrations = readMigrations('postgres')
    await requirePrivileges(pools.changes.read, migrations, readOnly ? 'read' : 'write')
    const assertAllowed = (applied: number) =>
      assertSchemaChangeAllowed(schema, applied, migrations.length)
    const migrated = await migrate(pools.changes, migrations, assertAllowed, onWait, patience)
    const db = createPostgresDb(pools, { url, connections }, buildTables(postgresColumns))
    const sealKey = createHash('sha256')
      .update(secretKey ?? '')
      .digest()
    const { secretStore, stop } = createSharedSecrets(pools.changes, sealKey)
    return { db, pools, migrated, secretStore, close }

    async function close() {
      stop()
      await db.stopWriting('closing')
      await db.close()
    }
  } catch (error) {
    await pools[Symbol.asyncDispose]()
    throw asCommandError(error, url, setting)
  }
}

/** Throws if only a part of the data has been copied into the database. */
export async function assertCopyFinished(db: {
  place: string
  isCopyUnfinished: () => Promise<boolean>
}) {
  if (!(await db.isCopyUnfinished())) return
  throw new CommandError(
    `The copy into ${db.place} is unfinished: repeat the interrupted "homeport db copy" or "homeport restore".`,
  )
}

function assertNotMoved(place: string, target: string | null) {
  if (target === null) return
  throw new CommandError(
    `The data of ${place} was moved to ${target}: start the server there without DATABASE_URL, or repeat the interrupted "homeport db copy". To continue here instead, run "${ALLOW_CHANGES}" in this database.`,
  )
}

/** `known`: the tags of all migrations in this version. `skew`: by how many ms our clock is ahead of the server's. */
export async function postgresStatus(config: Config) {
  const url = config.databaseUrl ?? ''
  await using pools = openPools(url, config.databasePool)
  const { reads } = pools
  try {
    const migrations = readMigrations('postgres')
    const missingPrivileges = await describeMissingPrivileges(reads.read, migrations, 'write')
    const applied = await countAppliedMigrations({ run: reads.read }).catch((error) => {
      if (missingPrivileges === null) throw error
      return 0
    })
    const skew = await clockSkew(reads, Date.now)
    const [[readOnly] = []] = await reads.read(
      "SELECT current_setting('transaction_read_only')",
      [],
    )
    const isReadOnly = readOnly === 'on'
    const unsafe = await unsafeSettings(reads)
    const known = migrations.map(({ tag }) => tag)
    return { applied, skew, isReadOnly, unsafe, missingPrivileges, known }
  } catch (error) {
    throw asCommandError(error, url, 'DATABASE_URL')
  }
}

/** Turns a connection error into a readable `CommandError`; returns other errors unchanged. */
function asCommandError(error: unknown, url: string, setting: UrlSetting): unknown {
  const place = withoutPassword(url)
  const { message } = error as Error
  if (error instanceof DatabaseRefusal) return new CommandError(`${place}: ${message}`)
  const state = sqlState(error)
  if (state === '53300' || state === '25006')
    return new DatabaseUnreachable(`The database ${place} cannot be used: ${message}.`)
  if (state !== null && /^(28|3D|42501)/.test(state))
    return new CommandError(`${place} refuses the connection: ${message}. Check ${setting}.`)
  if (isRefusedCertificate(error))
    return new CommandError(
      `The certificate of ${place} is not trusted (${message}): set NODE_EXTRA_CA_CERTS to its CA file, or use another sslmode.`,
    )
  if (isConnectionLost(error))
    return new DatabaseUnreachable(
      `The database ${place} cannot be reached (${message}): check ${setting} and its server.`,
    )
  return error
}
