import { existsSync } from 'node:fs'
import { chmod, mkdir, readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Config, ConfigError } from '../../config/config.ts'
import {
  checkSecrets,
  discardDamagedSecrets,
  loadSecrets,
  STORE_CLAIM,
  secretFile,
} from '../../config/secrets.ts'
import { CommandError } from '../../lib/command.ts'
import { renameDurably, syncPath, writeDurably } from '../../lib/files/durable-file.ts'
import { copyOnWriteSystem } from '../../lib/files/free-space.ts'
import type { Log } from '../../lib/log/log.ts'
import { type Migration, readMigrations } from '../../platform/db/migrations.ts'
import { sqliteColumns } from '../../platform/db/sqlite/columns.ts'
import { createDb } from '../../platform/db/sqlite/create-db.ts'
import { migrate, schemaVersion } from '../../platform/db/sqlite/migrate.ts'
import {
  copyDatabase,
  countAppliedMigrations,
  explainCannotOpen,
  isReplicated,
  openDatabase,
} from '../../platform/db/sqlite/open.ts'
import { buildTables } from '../../server/declarations.ts'
import { programCommand } from '../processes/program-command.ts'
import { assertSchemaChangeAllowed, type Engine, type SchemaChange } from './engine.ts'

type Client = ReturnType<typeof openDatabase>

/** The second line of the marker until the copy is complete. */
const UNFINISHED = 'unfinished'

/** Opens, creates or migrates the database of a locked data directory, and checks its secrets. */
export async function openSqlite(
  config: Config,
  log: Log,
  newSecrets: boolean,
  schema: SchemaChange,
): Promise<Engine> {
  const path = databasePath(config)
  const migrations = readMigrations('sqlite')
  await assertNotMoved(config)
  await assertFileSystem(config)
  await assertUsable(config, path, await explainCannotOpen(path, migrations))
  const folder = join(config.dataDir, 'secrets')
  const applied = existsSync(path) ? countAppliedMigrations(path) : 0
  assertSchemaChangeAllowed(schema, applied, migrations.length)
  const replaced = newSecrets ? await discardDamagedSecrets(folder, applied) : []
  await checkSecrets(folder, newSecrets ? 0 : applied)
  const client = openDatabase(path)
  // Before the migration, because a database with a schema but no secrets is refused. After the
  // database was created, because secrets without a database are refused too.
  const secrets = await loadSecrets(
    (name) => secretFile(folder, name),
    // A restore replaces the folder of secrets.
    secretFile(config.dataDir, STORE_CLAIM),
  )
  const migrated = await migrateWithSnapshot(config, client, migrations)
  if (!config.litestream && isReplicated(client)) {
    log.warn('Litestream replicates the database: set LITESTREAM=on to avoid damaged replicas')
  }
  const db = createDb(
    client,
    buildTables(sqliteColumns),
    config.litestream ? null : programCommand('checkpoint'),
  )
  return {
    db,
    migrated,
    replaced,
    secrets,
    async [Symbol.asyncDispose]() {
      await db.stopWriting('closing')
      await db.close()
    },
  }
}

/** The file that records where the data was moved, so that the old data is not used by mistake. */
export function movedMarkerPath({ dataDir }: Config): string {
  return join(dataDir, 'moved-to.txt')
}

/** Where the data was moved, or is being moved by an unfinished copy; null when it is here. */
export async function movedTo(config: Config) {
  const marker = Bun.file(movedMarkerPath(config))
  if (!(await marker.exists())) return null
  const [place = '', state] = (await marker.text()).split('\n')
  return { place, isUnfinished: state === UNFINISHED }
}

export async function markMoved(config: Config, place: string, isUnfinished: boolean) {
  await writeDurably(movedMarkerPath(config), `${place}\n${isUnfinished ? `${UNFINISHED}\n` : ''}`)
}

export async function assertNotMoved(config: Config) {
  const moved = await movedTo(config)
  if (moved === null) return
  const { place, isUnfinished } = moved
  if (isUnfinished) {
    throw new CommandError(
      `The copy to ${place} is unfinished: run "homeport db copy --to" again, or remove ${movedMarkerPath(config)} to cancel the copy and continue here.`,
    )
  }
  throw new CommandError(
    `The data was moved to ${place}: set DATABASE_URL, or remove ${movedMarkerPath(config)} to continue with the old data here.`,
  )
}

/** The folder in which `db copy` writes a SQLite file until the copy is complete. */
export function unfinishedCopyFolder(dataDir: string): string {
  return join(dataDir, 'copy.tmp')
}

export function databasePath({ dataDir }: Pick<Config, 'dataDir'>): string {
  return join(dataDir, 'homeport.db')
}

/** The number of applied migrations (0 without a database), and the tags of all known ones. */
export async function migrationStatus(config: Config) {
  const migrations = readMigrations('sqlite')
  const path = databasePath(config)
  await assertFileSystem(config)
  await assertUsable(config, path, await explainCannotOpen(path, migrations))
  const known = migrations.map(({ tag }) => tag)
  return { applied: existsSync(path) ? countAppliedMigrations(path) : 0, known }
}

/** Call it before anything opens the database. */
async function assertFileSystem({ dataDir, allowedFileSystem }: Config) {
  const name = await copyOnWriteSystem(dataDir)
  if (name === null || name === allowedFileSystem) return
  throw new ConfigError(
    `${dataDir} is on ${name}: when the disk or its quota is full, the server crashes and cannot start. Use a disk with ext4, XFS or ZFS, or set ALLOW_FILE_SYSTEM=${name} and keep space free.`,
  )
}

async function assertUsable(config: Config, path: string, refusal: string | null) {
  if (refusal !== null) throw new CommandError(refusal)
  const missing = !existsSync(path) || Bun.file(path).size === 0
  const unfinished = unfinishedCopyFolder(config.dataDir)
  if (missing && existsSync(join(unfinished, 'homeport.db'))) {
    throw new CommandError(
      `The copy into ${config.dataDir} is unfinished: run "homeport db copy" again, or remove ${unfinished} to start without it.`,
    )
  }
  const secrets = await readdir(join(config.dataDir, 'secrets')).catch(() => [])
  if (missing && secrets.length > 0) {
    const names = await readdir(config.dataDir)
    const saved = names.filter((name) => name.startsWith('homeport.db.saved-')).toSorted()
    const rescue = saved.length > 0 ? `rename ${saved.at(-1)} to homeport.db, ` : ''
    throw new CommandError(
      `${path} is missing or empty although ${config.dataDir} was in use: ${rescue}restore it from a backup, or start in an empty DATA_DIR`,
    )
  }
}

/** Saves a copy of the database before its schema changes, and removes it if the migration fails. */
async function migrateWithSnapshot(config: Config, client: Client, migrations: Migration[]) {
  const folder = join(config.dataDir, 'snapshots')
  const marker = join(folder, 'migrating.txt')
  const version = schemaVersion(client)
  await removeUnneeded(folder, marker, version)
  if (version === 0 || version >= migrations.length) return migrate(client, migrations)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const name = `before-migration-${version + 1}-${Date.now()}.db`
  await saveSnapshot(client, folder, name)
  await writeDurably(marker, name)
  try {
    return migrate(client, migrations)
  } finally {
    await removeUnneeded(folder, marker, schemaVersion(client))
  }
}

/** Removes the marker, and the snapshot that it names if the migration after it did not happen. */
async function removeUnneeded(folder: string, marker: string, version: number) {
  const name = await readFile(marker, 'utf8').catch(() => null)
  if (name === null) return
  const next = Number(/^before-migration-(\d+)-\d+\.db$/.exec(name)?.[1])
  if (version < next) await rm(join(folder, name), { force: true })
  await rm(marker, { force: true })
}

async function saveSnapshot(client: Client, folder: string, name: string) {
  const path = join(folder, name)
  const partial = join(folder, 'unfinished.partial')
  // Remove the leftovers of an interrupted copy.
  await rm(partial, { force: true })
  try {
    copyDatabase(client, partial)
    await chmod(partial, 0o600)
    await syncPath(partial)
    await renameDurably(partial, path)
  } finally {
    await rm(partial, { force: true })
  }
}
