import { beforeAll, expect, test } from 'bun:test'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { SQL } from 'bun'
import { createTestDatabase, isOnPostgres, ON_DISK } from '../support/databases.ts'
import { buildExecutable, freePort, installExecutable } from '../support/executable.ts'
import { simulateDelay, until } from '../support/until.ts'
import { archives } from './archive.ts'
import { findDifferences, openUpgraded, signInAgain, unpackArchive } from './compare.ts'

const [OLDEST = ''] = archives
const KILLS = 5
/** Longer than a migration of an archive takes. */
const MAX_KILL_DELAY_MS = 30
const EVERY_MS = { pause: () => simulateDelay(1) }

beforeAll(buildExecutable, 300_000)

test.each(archives)('today’s code gives the same responses as version %s did', async (name) => {
  const { dataDir, record } = await unpackArchive(name)
  await using app = await openUpgraded(dataDir, record)
  expect(await findDifferences(app, record)).toEqual([])
  await signInAgain(app, record)
})

test('killing the executable during a migration loses no data', async () => {
  await using homeport = await installExecutable()
  for (let kill = 0; kill < KILLS; kill++) {
    const { dataDir, record } = await unpackArchive(OLDEST)
    const environment = { ...ON_DISK, DATA_DIR: dataDir, PORT: String(freePort()) }
    const { stop } = await homeport.launch(environment)
    // The migration begins right after the snapshot.
    await until(() => hasSnapshot(dataDir), 'there is no snapshot', EVERY_MS)
    const delay = Math.random() * MAX_KILL_DELAY_MS
    await simulateDelay(delay)
    await stop('SIGKILL')
    await using app = await openUpgraded(dataDir, record)
    expect([delay, ...(await findDifferences(app, record))]).toEqual([delay])
    await signInAgain(app, record)
  }
}, 60_000)

test('killing the executable during its first start does not prevent the next', async () => {
  await using homeport = await installExecutable()
  for (let kill = 0; kill < KILLS; kill++) {
    const dataDir = join(homeport.folder, `data-${kill}`)
    const environment = { ...ON_DISK, DATA_DIR: dataDir, PORT: String(freePort()) }
    const { stop } = await homeport.launch(environment)
    const database = join(dataDir, 'homeport.db')
    await until(() => existsSync(database), 'there is no database', EVERY_MS)
    const delay = Math.random() * MAX_KILL_DELAY_MS
    await simulateDelay(delay)
    await stop('SIGKILL')
    const { exitCode, stderr } = await homeport.run(['init'], environment)
    expect([delay, exitCode, stderr]).toEqual([delay, 0, ''])
  }
}, 60_000)

test.skipIf(!isOnPostgres)(
  'PostgreSQL gives the same responses as the oldest version did',
  async () => {
    await using homeport = await installExecutable()
    await using database = await createTestDatabase({ isEmpty: true })
    const { dataDir, record } = await unpackArchive(OLDEST)
    const environment = { ...ON_DISK, DATA_DIR: dataDir }
    await homeport.run(['migrate'], environment)
    const { DATABASE_URL: url = '' } = database.environment
    await using sql = new SQL({ url, max: 1 })
    await sql`CREATE PUBLICATION everything FOR ALL TABLES`
    const copied = await homeport.run(['db', 'copy', '--to', url], environment)
    expect(copied).toMatchObject({ exitCode: 0 })
    await using app = await openUpgraded(dataDir, record, database)
    expect(await findDifferences(app, record)).toEqual([])
    await signInAgain(app, record)
  },
  30_000,
)

function hasSnapshot(dataDir: string): boolean {
  const folder = join(dataDir, 'snapshots')
  return existsSync(folder) && readdirSync(folder).some((name) => name.endsWith('.db'))
}
