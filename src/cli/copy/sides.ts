import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Config } from '../../config.ts'
import type { OpenDb } from '../../db/db.ts'
import { readMigrations } from '../../db/migrations.ts'
import { postgresColumns } from '../../db/postgres/columns.ts'
import { migrate as migratePostgres } from '../../db/postgres/migrate.ts'
import { createPostgresDb, openPools, openSnapshot } from '../../db/postgres/open.ts'
import { createSharedSecrets } from '../../db/postgres/shared-secrets.ts'
import { sqliteColumns } from '../../db/sqlite/columns.ts'
import { migrate } from '../../db/sqlite/migrate.ts'
import { absorbLog, createDb, openDatabase } from '../../db/sqlite/open.ts'
import { buildTables, type Tables } from '../../features.ts'
import { SECRET_NAMES, type SecretName, secretFile } from '../../secrets.ts'
import { DataError } from '../data-error.ts'
import { asPostgresError, sealKeyOf } from '../open-postgres.ts'
import { countAll } from './copy-tables.ts'

/** A database that is copied from or to, with the secrets that belong to it. */
export type Side = {
  db: Pick<OpenDb<Tables>, 'tables' | 'read' | 'write' | 'place'>
  secrets: (name: SecretName) => ReturnType<typeof secretFile>
} & AsyncDisposable

/** Statements of a copy are long, in ms. */
const PATIENCE = 120_000
const CONNECTIONS = 3

/** The SQLite database at `path`, made where there is none, with the secrets in `folder`. */
export async function sqliteSide(path: string, folder: string): Promise<Side> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const client = openDatabase(path)
  migrate(client, readMigrations('sqlite'))
  const db = createDb(client, buildTables(sqliteColumns), null)
  return {
    db,
    secrets: (name) => secretFile(folder, name),
    async [Symbol.asyncDispose]() {
      await db.stopWriting('copied')
      db.close()
      // The file alone is moved on.
      absorbLog(path)
    },
  }
}

/** The database of a server as it is now, all of it at one moment. */
export async function postgresSource(url: string, config: Config): Promise<Side> {
  return openPostgresSide(url, config, true)
}

/** The database of a server that is empty, or in which a copy was begun. Throws for one that has been in use. */
export async function postgresTarget(url: string, config: Config) {
  const side = await openPostgresSide(url, config, false)
  try {
    if ((await countAll(side.db)) > 0 && !(await side.hasCopyBegun())) {
      throw new DataError(`${side.db.place} has data already: take an empty database.`)
    }
    await side.noteCopy(true)
    return side
  } catch (error) {
    await side[Symbol.asyncDispose]()
    throw error
  }
}

async function openPostgresSide(url: string, config: Config, isSource: boolean) {
  const pools = openPools(url, CONNECTIONS, PATIENCE)
  const options = { url, connections: CONNECTIONS }
  try {
    await migratePostgres(pools.changes, readMigrations('postgres'))
    const open = createPostgresDb(pools, options, buildTables(postgresColumns))
    const secrets = createSharedSecrets(pools.changes, sealKeyOf(config))
    const snapshot = isSource ? await openSnapshot(pools.changes) : null
    const { tables, write, place, isCopyUnfinished: hasCopyBegun, noteCopy } = open
    return {
      db: { tables, write, place, read: snapshot?.read ?? open.read },
      secrets: secrets.keep,
      hasCopyBegun,
      noteCopy,
      async [Symbol.asyncDispose]() {
        secrets.stop()
        snapshot?.end()
        await open.stopWriting('copied')
        await open.close()
      },
    }
  } catch (error) {
    await Promise.allSettled([pools.reads.close(), pools.changes.close()])
    throw asPostgresError(error, url)
  }
}

/** Gives the secrets of one side to the other. */
export async function copySecrets(from: Side, to: Side) {
  for (const name of SECRET_NAMES) {
    const missing = async (): Promise<string> => {
      throw new DataError(`The secret ${name} is missing: start the server once, or restore it.`)
    }
    const text = await from.secrets(name).readOrMake(missing)
    const kept = await to.secrets(name).readOrMake(async () => text)
    if (kept !== text) throw new DataError(`The secret ${name} is another one at the other side.`)
  }
}

/** Where the SQLite file of a copy grows until it is whole. */
export function unfinishedCopy(dataDir: string): string {
  return join(dataDir, 'copy.tmp')
}
