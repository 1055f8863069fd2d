import type { Database } from 'bun:sqlite'
import { test } from 'bun:test'
import { SQL } from 'bun'
import { createLog } from '../../src/lib/log/log.ts'

/** The PostgreSQL server that tests use instead of SQLite; see `test/postgres.ts`. */
const SERVER = process.env['TEST_DATABASE_URL']

export const isOnPostgres = SERVER !== undefined

/** The environment of an instance with its own database; empty on SQLite. */
export type TestDatabase = { environment: Record<string, string> } & AsyncDisposable

/** Variables that run an instance on SQLite even if tests use PostgreSQL. */
export const ON_DISK = { DATABASE_URL: undefined as never, DATABASE_POOL: undefined as never }

/** A test that is skipped on PostgreSQL; `reason` says why. */
export function onSqlite(_reason: string) {
  return test.skipIf(isOnPostgres)
}

/** The SQLite database of an application. */
export function sqliteClientOf({ services }: { services: { db: object } }): Database {
  return (services.db as { client: Database }).client
}

/** Stops the database from growing until the returned function is called. Changes within existing pages still succeed. */
export function fillDatabase(app: Parameters<typeof sqliteClientOf>[0]): () => void {
  const client = sqliteClientOf(app)
  client.run('CREATE TABLE filler (content BLOB)')
  const { page_count: pages } = client.query('PRAGMA page_count').get() as { page_count: number }
  client.run(`PRAGMA max_page_count = ${pages}`)
  try {
    // Uses up the free pages.
    for (;;) client.run('INSERT INTO filler VALUES (zeroblob(4000))')
  } catch {}
  return () => {
    client.run('PRAGMA max_page_count = 1000000')
    client.run('DROP TABLE filler')
  }
}

let admin: SQL | null = null
let template: Promise<string> | null = null
let copyOption: Promise<string> | null = null

type DatabaseOptions = {
  isEmpty?: boolean
  /** The URL of a database to copy. Copying closes its connections. */
  from?: string | undefined
}

/** Creates a database for one test: empty, a copy, or with the data of a first start. */
export async function createTestDatabase({
  isEmpty = false,
  from,
}: DatabaseOptions = {}): Promise<TestDatabase> {
  if (SERVER === undefined) return { environment: {}, [Symbol.asyncDispose]: async () => {} }
  template ??= makeTemplate()
  const original = from && new URL(from).pathname.slice(1)
  if (original) {
    await run(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${original}'`,
    )
  }
  const name = await createDatabase(original || (isEmpty ? 'template1' : await template))
  return {
    environment: environmentOf(name),
    [Symbol.asyncDispose]: async () => {
      await run(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
    },
  }
}

async function makeTemplate(): Promise<string> {
  const { openData } = await import('../../src/cli/data/open-data.ts')
  const { readConfig } = await import('../../src/config/config.ts')
  const { mkdtemp, rm } = await import('node:fs/promises')
  const name = await createDatabase('template1')
  const dataDir = await mkdtemp('/tmp/homeport-template-')
  const environment = { DATA_DIR: dataDir, RATES_PROVIDER: 'off', MIN_FREE_BYTES: '0' }
  const config = readConfig({}, { ...environment, ...environmentOf(name) })
  await (await openData(config, createLog('error')))[Symbol.asyncDispose]()
  await rm(dataDir, { recursive: true })
  return name
}

async function createDatabase(from: string): Promise<string> {
  const name = `test_${crypto.randomUUID().replaceAll('-', '')}`
  await run(`CREATE DATABASE ${name} TEMPLATE ${from}${await findCopyOption()}`)
  return name
}

/** The option to copy files, which takes half as long as writing them to the log; available since version 15. */
async function findCopyOption(): Promise<string> {
  copyOption ??= run('SHOW server_version_num').then(([row]) =>
    Number(row?.['server_version_num']) >= 150_000 ? ' STRATEGY FILE_COPY' : '',
  )
  return copyOption
}

function environmentOf(name: string) {
  const url = new URL(SERVER ?? '')
  url.pathname = `/${name}`
  return {
    DATABASE_URL: url.href,
    DATABASE_POOL: '8',
    SECRET_KEY: 'the secret key of all tests here',
  }
}

async function run(statement: string): Promise<Record<string, unknown>[]> {
  admin ??= new SQL({ url: SERVER ?? '', max: 1 })
  return admin.unsafe(statement)
}
