import type { Config } from '../config.ts'
import { createLog } from '../lib/log.ts'
import { EXIT, type LocalCommand } from './command.ts'
import { openData, requireData } from './data-directory.ts'
import { postgresStatus } from './open-postgres.ts'
import { migrationStatus } from './open-sqlite.ts'

export const migrateCommand: LocalCommand = {
  name: 'migrate',
  summary: 'Bring the database schema up to date (the start does so too)',
  options: [['--status', 'only say what is applied and what is pending']],
  run: async (config, { status, json }) => {
    await requireData(config())
    const pending = status ? undefined : await migrateNow(config())
    const { applied, known } = await statusOf(config())
    const outcome = { applied, known, ...(pending ? { migrated: pending } : {}) }
    if (json) console.log(JSON.stringify(outcome))
    else console.log(describe(outcome))
    return EXIT.done
  },
}

function statusOf(config: Config) {
  return config.databaseUrl === null ? migrationStatus(config) : postgresStatus(config)
}

async function migrateNow(config: Parameters<typeof openData>[0]): Promise<string[]> {
  await using data = await openData(config, createLog('error'))
  return data.migrated
}

function describe({
  applied,
  known,
  migrated,
}: {
  applied: number
  known: string[]
  migrated?: string[]
}) {
  const pending = known.slice(applied)
  if (migrated && migrated.length > 0) return `Applied ${migrated.join(', ')}.`
  return pending.length === 0
    ? `The schema is up to date (${applied} applied).`
    : `Pending: ${pending.join(', ')} (${applied} applied).`
}
