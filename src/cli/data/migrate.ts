import type { Config } from '../../config/config.ts'
import { CommandError, UsageError } from '../../lib/command.ts'
import { createLog } from '../../lib/log/log.ts'
import { localCommand } from '../command.ts'
import { isServing } from '../server/command-socket.ts'
import { confirmRisk } from '../terminal.ts'
import { requireData, requireOwnDirectory } from './data-directory.ts'
import { openData } from './open-data.ts'
import { postgresStatus } from './open-postgres.ts'
import { migrationStatus } from './open-sqlite.ts'
import { findSnapshot, restoreSnapshot } from './snapshots.ts'

export const migrateCommand = localCommand({
  name: 'migrate',
  summary: 'Update the database schema (as the server does when it starts), or undo an update',
  options: [
    ['--status', 'only show which migrations are applied and pending'],
    [
      '--back-to-snapshot [name]',
      'restore the database from before the last migration, to run the previous version',
    ],
    ['--data-dir <path>', 'overrides DATA_DIR'],
    ['--yes', 'skip the confirmation'],
  ],
  work: async (loadConfig, { status, backToSnapshot, yes }) => {
    const config = loadConfig()
    if (backToSnapshot) {
      // The database is missing if an earlier restore was interrupted.
      await requireOwnDirectory(config)
      const name = backToSnapshot === true ? null : backToSnapshot
      return confirmAndRestore(config, name, yes === true)
    }
    await requireData(config)
    const migrated = status ? undefined : await migrateNow(config)
    const { applied, known } = await schemaStatus(config)
    const pending = known.slice(applied)
    return { applied, known, pending, ...(migrated ? { migrated } : {}) }
  },
  print: (outcome) => {
    if ('snapshot' in outcome) {
      const { at, migration, aside } = outcome
      const kept = aside === null ? '' : ` The replaced database was moved to ${aside}.`
      return `The database is back to its state as of ${at}, before migration ${migration}.${kept}
Start the previous version: "homeport upgrade" kept it next to the executable as homeport.previous.`
    }
    const { applied, pending, migrated = [] } = outcome
    if (migrated.length > 0) return `Applied ${migrated.join(', ')}.`
    return pending.length === 0
      ? `The schema is up to date (${applied} applied).`
      : `Pending: ${pending.join(', ')} (${applied} applied).`
  },
})

/** The number of applied migrations, and the tags of all migrations in this version. */
export function schemaStatus(config: Config) {
  return config.databaseUrl === null ? migrationStatus(config) : postgresStatus(config)
}

async function migrateNow(config: Config): Promise<string[]> {
  await using data = await openData(config, createLog('error'), {}, { schema: 'migrate' })
  return data.migrated
}

async function confirmAndRestore(config: Config, name: string | null, isConfirmed: boolean) {
  if (config.databaseUrl !== null)
    throw new UsageError('A PostgreSQL database has no snapshots: restore a backup instead.')
  if (await isServing(config))
    throw new CommandError(`A server is using ${config.dataDir}: stop it first.`)
  const { path, at, migration } = await findSnapshot(config, name)
  if (!isConfirmed)
    confirmRisk(`The database and all changes after ${at.toISOString()} will be moved aside.`)
  const replacedDatabase = await restoreSnapshot(config, { path, at, migration })
  return { snapshot: path, at: at.toISOString(), migration, aside: replacedDatabase }
}
