import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type Config, readDotEnv } from '../../config/config.ts'
import { parseEnvironmentFile } from '../../config/environment-file.ts'
import { writeDurably } from '../../lib/files/durable-file.ts'
import { isExposed } from '../../lib/files/file-exposure.ts'
import { parseJson } from '../../lib/text/json.ts'
import { withoutPassword } from '../../platform/db/postgres/open.ts'
import { findEncryption } from '../backup/encryption.ts'

/** The settings of the service that commands need while it is not running. */
type ServiceRecord = {
  /** The environment file of the service, or the `.env` of the server's folder; null when unknown. */
  environmentFile: string | null
  /** How its backups are encrypted: an age recipient, `passphrase`, or null. */
  backups: string | null
  /** The database server, without its password; null with SQLite. Not recorded by early versions. */
  database?: string | null
}

/** Never taken from the service: the location of the data, which may be about to move, and the code to load. */
const EXCLUDED_VARIABLES = ['DATA_DIR', 'DATABASE_URL', 'NATIVE_DIR']
const WRITABLE_BY_OTHERS = 0o022

/** Records in the data directory how this server was started. */
export async function recordService(config: Config) {
  const { dataDir, databaseUrl, environmentFile, backupKey } = config
  const database = databaseUrl === null ? null : withoutPassword(databaseUrl)
  await write(dataDir, { environmentFile, backups: await findEncryption(backupKey), database })
}

/** Records that the data has moved into the SQLite file of the directory. */
export async function recordMoveToFile(dataDir: string) {
  const record = readServiceRecord(dataDir)
  if (record !== null) await write(dataDir, { ...record, database: null })
}

async function write(dataDir: string, record: ServiceRecord) {
  const text = `${JSON.stringify(record)}\n`
  if (readTrusted(recordPath(dataDir)) !== text) await writeDurably(recordPath(dataDir), text)
}

/** How the last server of the data directory was started; null when unknown. */
export function readServiceRecord(dataDir: string): ServiceRecord | null {
  return (parseJson(readTrusted(recordPath(dataDir))) ?? null) as ServiceRecord | null
}

/** The variables of the service; empty when this user may not read them. */
export function serviceVariables(dataDir: string): Record<string, string> {
  const path = readServiceRecord(dataDir)?.environmentFile
  const text = path ? readTrusted(path, 0) : null
  const parse = (text: string) =>
    path?.endsWith('/.env') ? readDotEnv(path).variables : parseEnvironmentFile(text)
  const variables = Object.entries(text === null ? {} : parse(text))
  return Object.fromEntries(
    variables.filter(([name]) => !EXCLUDED_VARIABLES.includes(name.replace(/_FILE$/, ''))),
  )
}

/** Ignores files of other users, except `trusted`: their content could end up in a command that root runs. */
function readTrusted(path: string, trusted?: number): string | null {
  try {
    const stats = statSync(path)
    const isOwn = stats.uid === process.getuid?.() || stats.uid === trusted
    return isOwn && !isExposed(stats, WRITABLE_BY_OTHERS) ? readFileSync(path, 'utf8') : null
  } catch {
    return null
  }
}

function recordPath(dataDir: string): string {
  return join(dataDir, 'service.json')
}
