import type { Config } from '../config.ts'
import { CommandError, EXIT, UsageError } from '../lib/command.ts'
import { createLog } from '../lib/log.ts'
import type { LocalCommand } from './command.ts'
import { isServing } from './command-socket.ts'
import { requireData } from './data-directory.ts'
import { openData } from './open-data.ts'
import { postgresStatus } from './open-postgres.ts'
import { migrationStatus } from './open-sqlite.ts'
import { findSnapshot, returnToSnapshot } from './snapshots.ts'
import { confirmRisk } from './terminal.ts'

export const migrateCommand: LocalCommand = {
  name: 'migrate',
  summary: 'Bring the database schema up to date (the start does so too), or take it back',
  options: [
    ['--status', 'only say what is applied and what is pending'],
    [
      '--back-to-snapshot [name]',
      'put back the database of before the last migration, for the version of that time',
    ],
    ['--data-dir <path>', 'wins over DATA_DIR'],
    ['--yes', 'do it without asking'],
  ],
  run: async (given, { status, backToSnapshot, json, yes }) => {
    const config = given()
    await requireData(config)
    if (backToSnapshot) {
      const name = backToSnapshot === true ? null : backToSnapshot
      const done = await goBack(config, name, yes === true)
      console.log(json ? JSON.stringify(done) : describeReturn(done))
      return EXIT.done
    }
    const migrated = status ? undefined : await migrateNow(config)
    const { applied, known } = await schemaStatus(config)
    const pending = known.slice(applied)
    const outcome = { applied, known, pending, ...(migrated ? { migrated } : {}) }
    if (json) console.log(JSON.stringify(outcome))
    else console.log(describe(outcome))
    return EXIT.done
  },
}

/** How many of the program's migrations the database has had, and all of them. */
export function schemaStatus(config: Config) {
  return config.databaseUrl === null ? migrationStatus(config) : postgresStatus(config)
}

async function migrateNow(config: Config): Promise<string[]> {
  await using data = await openData(config, createLog('error'), {}, { schema: 'migrate' })
  return data.migrated
}

async function goBack(config: Config, name: string | null, isConfirmed: boolean) {
  if (config.databaseUrl !== null)
    throw new UsageError('A PostgreSQL database has no snapshots: restore a backup instead.')
  if (await isServing(config))
    throw new CommandError(`A server is using ${config.dataDir}: stop it first.`)
  const { path, at, migration } = await findSnapshot(config, name)
  if (!isConfirmed)
    confirmRisk(`What was written after ${at.toISOString()} is moved aside with the database.`)
  const aside = await returnToSnapshot(config, { path, at, migration })
  return { snapshot: path, at: at.toISOString(), migration, aside }
}

function describeReturn({ at, migration, aside }: Awaited<ReturnType<typeof goBack>>): string {
  const kept = aside === null ? '' : ` The database of until now is ${aside}.`
  return `The database is that of ${at}, before migration ${migration}.${kept}
Start the version of that time: "homeport upgrade" left it beside itself as homeport.previous.`
}

function describe({
  applied,
  pending,
  migrated,
}: {
  applied: number
  pending: string[]
  migrated?: string[]
}) {
  if (migrated && migrated.length > 0) return `Applied ${migrated.join(', ')}.`
  return pending.length === 0
    ? `The schema is up to date (${applied} applied).`
    : `Pending: ${pending.join(', ')} (${applied} applied).`
}
