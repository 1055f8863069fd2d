import { expect, test } from 'bun:test'
import { SQL } from 'bun'
import { openPools } from '../../../src/platform/db/postgres/open.ts'
import { createTestDatabase, isOnPostgres } from '../../support/databases.ts'

test.skipIf(!isOnPostgres)(
  'reads that wait for a locked table occupy no more server connections',
  async () => {
    await using database = await createTestDatabase()
    const { DATABASE_URL: url = '' } = database.environment
    await using sql = new SQL({ url, max: 1 })
    const { reads, changes } = openPools(url, 4, 300)
    await sql.begin(async (tx) => {
      await tx`LOCK TABLE users IN ACCESS EXCLUSIVE MODE`
      for (let n = 0; n < 5; n++) {
        const read = reads.read('SELECT count(*) FROM users', [])
        expect(await read.catch(({ name }) => name)).toBe('ResponseTimeout')
      }
      const [waiting] =
        await tx`SELECT count(*)::int AS count FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
      expect(waiting.count).toBeLessThanOrEqual(1)
    })
    expect(await reads.read('SELECT count(*) FROM users', [])).toHaveLength(1)
    await Promise.all([reads.close(), changes.close()])
  },
)

test.skipIf(!isOnPostgres)(
  'variables for other programs do not replace any part of the URL',
  async () => {
    await using database = await createTestDatabase()
    const { DATABASE_URL: url = '' } = database.environment
    for (const name of ['PGDATABASE', 'PG_DATABASE', 'PGUSER', 'PGPORT', 'PGHOST']) {
      process.env[name] = '1'
      const { reads, changes } = openPools(url, 4)
      const found = await reads
        .read('SELECT current_database()', [])
        .catch(({ message }) => message)
      delete process.env[name]
      expect([name, ...found]).toEqual([name, [new URL(url).pathname.slice(1)]])
      await Promise.all([reads.close(), changes.close()])
    }
  },
)
