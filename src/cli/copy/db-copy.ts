import { existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { type Config, readVariable } from '../../config/config.ts'
import { POSTGRES_URL, postgresUrl } from '../../config/values.ts'
import { CommandError, UsageError } from '../../lib/command.ts'
import { makeFolder, syncPath } from '../../lib/files/durable-file.ts'
import { withoutPassword } from '../../platform/db/postgres/open.ts'
import { localCommand } from '../command.ts'
import { lockData, requireDatabaseFile } from '../data/data-directory.ts'
import {
  databasePath,
  markMoved,
  movedMarkerPath,
  movedTo,
  unfinishedCopyFolder,
} from '../data/open-sqlite.ts'
import { recordMoveToFile } from '../service/service-record.ts'
import { confirmRisk, createProgress } from '../terminal.ts'
import { CopyMismatch, copyTables } from './copy-tables.ts'
import {
  copySecrets,
  describeMoveRisk,
  openPostgresSource,
  openPostgresTarget,
  openSqliteSide,
  type Side,
} from './source-and-target.ts'

const PASSWORD_WARNING =
  'Every local user can see a password on the command line: put the URL in a variable, pass env:NAME, and change this password.'

export const dbCopy = localCommand({
  name: 'db copy',
  summary: 'Move the data to a PostgreSQL server, or back; resumes after an interruption',
  options: [
    [
      '--to <url>',
      'from the file in DATA_DIR to an empty database on this server; needs SECRET_KEY; env:NAME reads the URL from a variable',
    ],
    ['--from <url>', 'from this server to a new file in DATA_DIR; accepts env:NAME too'],
    ['--data-dir <path>', 'overrides DATA_DIR'],
    ['--yes', 'with --from: continue even if other clients are connected to the server'],
  ],
  work: async (loadConfig, { to, from, yes }) => {
    const config = loadConfig()
    const place = to ?? from
    if ((to === undefined) === (from === undefined) || typeof place !== 'string')
      throw new UsageError('Choose --to or --from, with a postgres:// URL or env:NAME.')
    const url = parseUrl(place)
    if (postgresUrl(url) === undefined) throw new UsageError(`The URL must be ${POSTGRES_URL}.`)
    if (config.secretKey === null)
      throw new UsageError('Set SECRET_KEY: it encrypts the secrets in the database.')
    if (url === place && hasPassword(url)) console.warn(PASSWORD_WARNING)
    process.umask(0o077)
    using _lock = await lockData(config)
    const started = performance.now()
    const { rows, ...places } = await (to === undefined
      ? copyFromServer(config, url, yes === true)
      : copyToServer(config, url))
    const seconds = Math.round(performance.now() - started) / 1000
    return { ...places, rows, seconds }
  },
  print: ({ from, to, rows, seconds }) => {
    const rate = Math.round(rows / Math.max(seconds, 0.001))
    return `Copied ${rows} rows from ${from} to ${to} in ${seconds} s (${rate} per second), and compared them.`
  },
})

/** The URL itself, or the value of `NAME` for `env:NAME`: local users can see command lines. */
function parseUrl(place: string): string {
  const name = /^env:(\w+)$/.exec(place)?.[1]
  if (name === undefined) return place
  const url = readVariable(name)
  if (url) return url
  throw new UsageError(`The variable ${name} is not set: set it to the postgres:// URL.`)
}

function hasPassword(url: string): boolean {
  const { password, searchParams } = new URL(url)
  return password !== '' || searchParams.has('password')
}

async function copyToServer(config: Config, url: string) {
  await requireDatabaseFile(config)
  const place = withoutPassword(url)
  const moved = await movedTo(config)
  const movedAway = moved === null || moved.isUnfinished ? null : moved.place
  if (movedAway !== null && movedAway !== place) {
    throw new CommandError(
      `The data was moved to ${movedAway}: remove ${movedMarkerPath(config)} to copy the data that is still here.`,
    )
  }
  const advice =
    movedAway === place ? 'the copy is complete, so set DATABASE_URL' : 'use an empty database'
  await using from = await openSqliteSide(config.dataDir, 'none')
  await using to = await openPostgresTarget(url, config, advice, '--to')
  // From here on there are two databases: mark which one is current.
  await markMoved(config, to.db.place, true)
  const rows = await copyAll(from, to, 'use an empty database and copy again')
  await markMoved(config, to.db.place, false)
  await to.markCopyFinished()
  return { from: from.db.place, to: to.db.place, rows }
}

async function copyFromServer(config: Config, url: string, isConfirmed: boolean) {
  const { dataDir } = config
  const path = databasePath(config)
  const secrets = join(dataDir, 'secrets')
  const marker = movedMarkerPath(config)
  const moved = await movedTo(config)
  // While the copy to the server is unfinished, only the file holds complete data.
  if (existsSync(path) && (moved === null || moved.isUnfinished))
    throw new CommandError(`${dataDir} already has data: use an empty DATA_DIR.`)
  if (!isConfirmed) confirmRisk(await describeMoveRisk(url))
  const place = `${dataDir} on ${hostname()}`
  const copy = await copyInto(unfinishedCopyFolder(dataDir), url, config, place)
  // Remove what the earlier copy to the server left here.
  for (const suffix of ['-wal', '-shm']) await rm(path + suffix, { force: true })
  await rm(secrets, { recursive: true, force: true })
  await rename(join(unfinishedCopyFolder(dataDir), 'secrets'), secrets)
  await rename(join(unfinishedCopyFolder(dataDir), 'homeport.db'), path)
  await syncPath(dataDir)
  await rm(marker, { force: true })
  await recordMoveToFile(dataDir)
  await rm(unfinishedCopyFolder(dataDir), { recursive: true, force: true })
  return { ...copy, to: path }
}

/** Copies a server's data into the layout of a data directory. With `newPlace`, the server then refuses changes. */
export async function copyInto(
  folder: string,
  url: string,
  config: Config,
  newPlace: string | null,
) {
  await makeFolder(folder)
  try {
    await using from = await openPostgresSource(url, config, newPlace)
    await using to = await openSqliteSide(folder, 'migrate')
    const rows = await copyAll(from, to, 'copy again from the beginning').catch(async (error) => {
      await from.allowChangesAgain?.().catch(() => {})
      throw error
    })
    return { rows, from: from.db.place }
  } catch (error) {
    if (error instanceof CopyMismatch) await rm(folder, { recursive: true })
    throw error
  }
}

/** Copies and compares secrets and rows. Throws `CopyMismatch` with `advice` when they differ. */
export async function copyAll(from: Side, to: Side, advice: string): Promise<number> {
  using progress = createProgress()
  try {
    await copySecrets(from, to)
    return await copyTables(from.db, to.db, progress.show)
  } catch (cause) {
    if (!(cause instanceof CopyMismatch)) throw cause
    const message = `${cause.message}, perhaps because the data changed during the copy: ${advice}.`
    throw new CopyMismatch(message, { cause })
  }
}
