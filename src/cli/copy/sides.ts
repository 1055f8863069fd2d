import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Config } from '../../config.ts'
import type { OpenDb } from '../../db/db.ts'
import { readMigrations } from '../../db/migrations.ts'
import { openSnapshot } from '../../db/postgres/open.ts'
import { sqliteColumns } from '../../db/sqlite/columns.ts'
import { migrate } from '../../db/sqlite/migrate.ts'
import { absorbLog, appliedIn, createDb, openDatabase } from '../../db/sqlite/open.ts'
import { buildTables, type Tables } from '../../features.ts'
import { SECRET_NAMES, type SecretName, secretFile } from '../../secrets.ts'
import { CopyDiffers, DataError } from '../data-error.ts'
import type { SchemaChange } from '../engine.ts'
import { connectPostgres } from '../open-postgres.ts'
import { refuseSchema } from '../schema-change.ts'
import { countAll } from './copy-tables.ts'

/** A database that is copied from or to, with the secrets that belong to it. */
export type Side = {
  db: Pick<OpenDb<Tables>, 'tables' | 'read' | 'write' | 'place'>
  secrets: (name: SecretName) => ReturnType<typeof secretFile>
} & AsyncDisposable

/** Statements of a copy are long; the deadline is in ms. */
const LONG_WORK = { connections: 3, deadline: 120_000 }

/** The SQLite database at `path`, made where there is none, with the secrets in `folder`. */
export async function sqliteSide(
  path: string,
  folder: string,
  schema: SchemaChange,
): Promise<Side> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const migrations = readMigrations('sqlite')
  refuseSchema(schema, existsSync(path) ? appliedIn(path) : 0, migrations.length)
  const client = openDatabase(path)
  migrate(client, migrations)
  const db = createDb(client, buildTables(sqliteColumns), null)
  return {
    db,
    secrets: (name) => secretFile(folder, name),
    async [Symbol.asyncDispose]() {
      await db.stopWriting('copied')
      await db.close()
      // The file alone is moved on.
      absorbLog(path)
    },
  }
}

/** The database of a server as it is now, all of it at one moment. */
export async function postgresSource(url: string, config: Config): Promise<Side> {
  const { db, pools, keep, close } = await connectPostgres(url, config, {
    ...LONG_WORK,
    schema: 'none',
  })
  try {
    const { read, end } = await openSnapshot(pools.changes)
    const { tables, write, place } = db
    return {
      db: { tables, write, place, read },
      secrets: keep,
      async [Symbol.asyncDispose]() {
        end()
        await close()
      },
    }
  } catch (error) {
    await close()
    throw error
  }
}

/**
 * The database of a server that is empty, or in which a copy was begun. Throws for one that has been in use, with
 * `advice` of what to do.
 */
export async function postgresTarget(url: string, config: Config, advice: string) {
  const { db, keep, close } = await connectPostgres(url, config, { ...LONG_WORK, schema: 'create' })
  try {
    if ((await countAll(db)) > 0 && !(await db.isCopyUnfinished())) {
      throw new DataError(`${db.place} has data already: ${advice}.`)
    }
    await db.noteCopy(true)
    return { db, secrets: keep, noteCopy: db.noteCopy, [Symbol.asyncDispose]: close }
  } catch (error) {
    await close()
    throw error
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
    if (kept !== text) throw new CopyDiffers(`The secret ${name} is another one at the other side`)
  }
}
