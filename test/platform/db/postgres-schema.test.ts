import { expect, test } from 'bun:test'
import { SQL } from 'bun'
import { readMigrations } from '../../../src/platform/db/migrations.ts'
import { countAppliedMigrations, migrate } from '../../../src/platform/db/postgres/migrate.ts'
import { blockChanges } from '../../../src/platform/db/postgres/moved.ts'
import { openPools } from '../../../src/platform/db/postgres/open.ts'
import { createTestDatabase, isOnPostgres } from '../../support/databases.ts'

const onPostgres = test.skipIf(!isOnPostgres)
const MIGRATIONS = readMigrations('postgres')
const WITHOUT_KEY = `SELECT relname FROM pg_class WHERE relkind IN ('r', 'p')
AND relnamespace NOT IN ('pg_catalog'::regnamespace, 'information_schema'::regnamespace)
AND NOT EXISTS (SELECT 1 FROM pg_index WHERE indrelid = pg_class.oid AND indisprimary)`
const SCHEMAS = `SELECT relnamespace::regnamespace::text AS schema FROM pg_class
WHERE relkind = 'r' AND relname IN ('homeport', 'users', 'identities', 'added') GROUP BY 1`

onPostgres('every table has a primary key', async () => {
  await using database = await createTestDatabase()
  await using sql = connect(database)
  expect(await sql.unsafe(WITHOUT_KEY)).toHaveLength(0)
})

onPostgres('a publication for all tables allows every migration', async () => {
  await using database = await createTestDatabase({ isEmpty: true })
  await using sql = connect(database)
  await sql`CREATE PUBLICATION everything FOR ALL TABLES`
  for (let count = 1; count <= MIGRATIONS.length; count++) await migrateTo(database, count)
  expect(await readVersion(database)).toBe(MIGRATIONS.length)
})

onPostgres('a version table of an earlier version gets a primary key', async () => {
  await using database = await createTestDatabase({ isEmpty: true })
  await using sql = connect(database)
  await migrateTo(database, 1)
  await sql`ALTER TABLE homeport DROP CONSTRAINT homeport_pkey`
  await sql`CREATE PUBLICATION everything FOR ALL TABLES`
  await migrateTo(database, MIGRATIONS.length)
  expect(await sql.unsafe(WITHOUT_KEY)).toHaveLength(0)
})

onPostgres.each([
  ['of the role', (url: string) => url, 'ALTER DATABASE % SET search_path = "Other one"'],
  ['in the URL', (url: string) => `${url}?options=-c%20search_path%3D%22Other%5C%20one%22`, ''],
])('the search_path %s may name another schema for the tables', async (_what, urlOf, setting) => {
  await using database = await createTestDatabase({ isEmpty: true })
  await using sql = connect(database)
  await sql`CREATE SCHEMA "Other one"`
  if (setting) await sql.unsafe(setting.replace('%', new URL(urlIn(database)).pathname.slice(1)))
  const DATABASE_URL = urlOf(urlIn(database))
  await migrateTo({ environment: { DATABASE_URL } }, MIGRATIONS.length)
  expect(await sql.unsafe(SCHEMAS)).toEqual([{ schema: '"Other one"' }])
})

onPostgres(
  'tables stay in their schema when one with the name of the role is created',
  async () => {
    await using database = await createTestDatabase()
    await using sql = connect(database)
    await sql`CREATE SCHEMA postgres`
    const added = { tag: 'added', statements: ['CREATE TABLE added (id bigint PRIMARY KEY)'] }
    const pools = openPools(urlIn(database), 3)
    await migrate(pools.changes, [...MIGRATIONS, added])
    expect(await sql.unsafe(SCHEMAS)).toEqual([{ schema: 'public' }])
    await blockChanges(pools.changes, 'elsewhere')
    await Promise.all([pools.reads.close(), pools.changes.close()])
    const error = await sql`DELETE FROM users`.catch((thrown: unknown) => thrown)
    expect(String(error)).toContain('has moved this data')
  },
)

type Database = { environment: Record<string, string> }

function urlIn({ environment }: Database): string {
  return environment['DATABASE_URL'] ?? ''
}

function connect(database: Database): SQL {
  return new SQL({ url: urlIn(database), max: 1 })
}

async function migrateTo(database: Database, count: number) {
  const { reads, changes } = openPools(urlIn(database), 3)
  await migrate(changes, MIGRATIONS.slice(0, count))
  await Promise.all([reads.close(), changes.close()])
}

async function readVersion(database: Database): Promise<number> {
  const { reads, changes } = openPools(urlIn(database), 3)
  const count = await countAppliedMigrations({ run: reads.read })
  await Promise.all([reads.close(), changes.close()])
  return count
}
