import { existsSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from '../../config/config.ts'
import { SECRET_NAMES, type SecretName, secretFile } from '../../config/secrets.ts'
import { CommandError } from '../../lib/command.ts'
import type { OpenDb } from '../../platform/db/db.ts'
import { readMigrations } from '../../platform/db/migrations.ts'
import {
  ALLOW_CHANGES,
  blockChanges,
  countOtherConnections,
} from '../../platform/db/postgres/moved.ts'
import { openPools, openSnapshot, withoutPassword } from '../../platform/db/postgres/open.ts'
import { sqliteColumns } from '../../platform/db/sqlite/columns.ts'
import { createDb, keepLogShort } from '../../platform/db/sqlite/create-db.ts'
import { migrate } from '../../platform/db/sqlite/migrate.ts'
import {
  checkpointLog,
  countAppliedMigrations,
  openDatabase,
} from '../../platform/db/sqlite/open.ts'
import { buildTables } from '../../server/declarations.ts'
import type { Tables } from '../../server/features.ts'
import { assertSchemaChangeAllowed, type SchemaChange } from '../data/engine.ts'
import { assertCopyFinished, connectPostgres, type UrlSetting } from '../data/open-postgres.ts'
import { requirePrivileges } from '../data/postgres-privileges.ts'
import { CopyMismatch, countAll } from './copy-tables.ts'

/** The source or target database of a copy, with its secrets. */
export type Side = {
  db: Pick<OpenDb<Tables>, 'tables' | 'read' | 'write' | 'place'>
  secrets: (name: SecretName) => ReturnType<typeof secretFile>
  /** Lets the source accept changes again, which the copy has blocked. */
  allowChangesAgain?: () => Promise<unknown>
} & AsyncDisposable

/** The statements of a copy are slow; the deadline is in ms. */
const COPY_OPTIONS = { connections: 3, deadline: 120_000 }

/** Opens or creates the SQLite database of a folder with the layout of a data directory. */
export async function openSqliteSide(folder: string, schema: SchemaChange): Promise<Side> {
  const path = join(folder, 'homeport.db')
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const migrations = readMigrations('sqlite')
  assertSchemaChangeAllowed(
    schema,
    existsSync(path) ? countAppliedMigrations(path) : 0,
    migrations.length,
  )
  const client = openDatabase(path)
  migrate(client, migrations)
  const db = createDb(client, buildTables(sqliteColumns), null)
  keepLogShort(client)
  return {
    db,
    secrets: (name) => secretFile(join(folder, 'secrets'), name),
    async [Symbol.asyncDispose]() {
      await db.stopWriting('copied')
      await db.close()
      // Only the main file is moved later.
      checkpointLog(path)
    },
  }
}

/** Opens a snapshot. With `newPlace`, the database then refuses changes and names that location in the error. */
export async function openPostgresSource(
  url: string,
  config: Config,
  newPlace: string | null,
): Promise<Side> {
  const { db, pools, secretStore, close } = await connectPostgres(url, config, {
    ...COPY_OPTIONS,
    schema: 'none',
    setting: newPlace === null ? 'DATABASE_URL' : '--from',
    readOnly: true,
  })
  try {
    await assertCopyFinished(db)
    // Detect a wrong SECRET_KEY before changes are refused.
    for (const name of SECRET_NAMES) await secretStore(name).readOrCreate(() => rejectMissing(name))
    if (newPlace !== null) {
      await requirePrivileges(pools.changes.read, readMigrations('postgres'), 'migrate')
      await blockChanges(pools.changes, newPlace)
    }
    const { read, end } = await openSnapshot(pools.changes)
    const { tables, write, place } = db
    const allowChangesAgain = () => {
      // The snapshot would hold up the removal of triggers from its tables.
      end()
      return pools.changes.read(ALLOW_CHANGES, [])
    }
    return {
      db: { tables, write, place, read },
      secrets: secretStore,
      ...(newPlace !== null && { allowChangesAgain }),
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

/** The risk of moving a database while other clients are connected; null if there are none. */
export async function describeMoveRisk(url: string): Promise<string | null> {
  await using pools = openPools(url, 1)
  // The main connection reports why the server cannot be reached.
  const others = await countOtherConnections(pools.reads.read).catch(() => 0)
  if (others === 0) return null
  return `Other connections to ${withoutPassword(url)} are open (${others}): stop every instance first, or its changes will be refused with 503.`
}

/** Throws with `advice` unless the database is empty or holds an unfinished copy. */
export async function openPostgresTarget(
  url: string,
  config: Config,
  advice: string,
  setting: UrlSetting,
) {
  const options = { ...COPY_OPTIONS, schema: 'create', setting } as const
  const { db, secretStore, close } = await connectPostgres(url, config, options)
  try {
    if ((await countAll(db)) > 0 && !(await db.isCopyUnfinished())) {
      throw new CommandError(`${db.place} already has data: ${advice}.`)
    }
    await db.markCopyUnfinished()
    return {
      db,
      secrets: secretStore,
      markCopyFinished: db.markCopyFinished,
      [Symbol.asyncDispose]: close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

/** Copies the secrets. Throws `CopyMismatch` if the target already has different ones. */
export async function copySecrets(from: Side, to: Side) {
  for (const name of SECRET_NAMES) {
    const text = await from.secrets(name).readOrCreate(() => rejectMissing(name))
    const kept = await to.secrets(name).readOrCreate(async () => text)
    if (kept !== text) throw new CopyMismatch(`The secret ${name} differs between the two sides`)
  }
}

async function rejectMissing(name: SecretName): Promise<string> {
  throw new CommandError(`The secret ${name} is missing: start the server once, or restore it.`)
}
