import { Database } from 'bun:sqlite'
import { afterEach, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eq } from 'drizzle-orm'
import { AppError } from '../../../src/lib/errors.ts'
import type { Tx } from '../../../src/platform/db/db.ts'
import { type Migration, readMigrations } from '../../../src/platform/db/migrations.ts'
import { sqliteColumns } from '../../../src/platform/db/sqlite/columns.ts'
import { createDb } from '../../../src/platform/db/sqlite/create-db.ts'
import { migrate, schemaVersion } from '../../../src/platform/db/sqlite/migrate.ts'
import { explainCannotOpen, openDatabase } from '../../../src/platform/db/sqlite/open.ts'
import { buildTables } from '../../../src/server/declarations.ts'
import { fault } from '../../support/fault.ts'
import { simulateDelay, yieldToEventLoop } from '../../support/until.ts'

const migrations = readMigrations('sqlite')
const cleanups: (() => unknown)[] = []

afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup()
})

test('rolls back only the changes that fail in a batch', async () => {
  const { db, put, names } = await openTestDb()
  const outcomes = await Promise.allSettled(
    Array.from({ length: 20 }, (_, at) =>
      db.write(async (tx) => {
        await put(tx, `before-${at}`)
        await simulateDelay(at % 3)
        if (at % 2 === 1) throw new Error('odd')
        return at
      }),
    ),
  )
  const kept = outcomes.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
  expect(kept).toEqual([0, 2, 4, 6, 8, 10, 12, 14, 16, 18])
  expect(await names()).toEqual(kept.map((at) => `before-${at}`).toSorted())
})

test('readers see the last commit, never an open transaction', async () => {
  const { db, put, names } = await openTestDb()
  await db.write(async (tx) => {
    await put(tx, 'a')
    expect(await names()).toEqual([])
  })
  expect(await names()).toEqual(['a'])
})

test("prepared reads see our commits immediately, and another process's on the next event-loop turn", async () => {
  const { db, put, path } = await openTestDb()
  const { contentVersions } = db.tables
  const query = db.read.select({ name: contentVersions.name }).from(contentVersions).prepare()
  const names = async () => (await query.execute()).map(({ name }) => name)
  expect(await names()).toEqual([])
  await db.write((tx) => put(tx, 'ours'))
  expect(await names()).toEqual(['ours'])

  using other = new Database(path)
  other.run("INSERT INTO content_versions VALUES ('theirs', 1)")
  await yieldToEventLoop()
  expect(await names()).toEqual(['ours', 'theirs'])
})

test('closes a database that was just read', async () => {
  const { db } = await openTestDb()
  const { contentVersions } = db.tables
  const query = db.read.select().from(contentVersions).prepare()
  await query.execute()
  await db.close()
  await yieldToEventLoop()
})

test('a write inside a write throws instead of waiting for itself', async () => {
  const { db } = await openTestDb()
  await expect(db.write(() => db.write(async () => 1))).rejects.toThrow('wait for itself')
  expect(await db.write(async () => 2)).toBe(2)
})

test('a prepared change runs only inside a write', async () => {
  const { db, names } = await openTestDb()
  const insert = db.prepareWrite((tx) => tx.insert(db.tables.contentVersions).values(row('a')))
  let ended: Tx | null = null
  await db.write(async (tx) => {
    ended = tx
    await insert(tx).execute()
  })
  expect(() => insert(ended as unknown as Tx)).toThrow('only inside write()')
  expect(await names()).toEqual(['a'])
})

test(`64 concurrent increments of one number lose no increment ${fault(17)}`, async () => {
  const { db, put } = await openTestDb()
  await db.write((tx) => put(tx, 'n'))
  const { contentVersions } = db.tables
  const add = () =>
    db.write(async (tx) => {
      const [current] = await tx.select().from(contentVersions)
      await yieldToEventLoop()
      await tx.update(contentVersions).set({ version: (current?.version ?? 0) + 1 })
    })
  await Promise.all(Array.from({ length: 64 }, add))
  expect(await db.read.select().from(contentVersions)).toMatchObject([{ version: 65 }])
})

test(`waits for another process's lock, then returns 503, without blocking reads ${fault(16)}`, async () => {
  const { db, path, put, names } = await openTestDb()
  using foreign = new Database(path)
  foreign.run('BEGIN IMMEDIATE')
  let ticks = 0
  const ticking = setInterval(() => ticks++, 5)
  const refused = await db.write((tx) => put(tx, 'a')).catch((error) => error)
  clearInterval(ticking)
  expect(refused).toBeInstanceOf(AppError)
  expect(refused).toMatchObject({ code: 'unavailable', retryAfterSeconds: 5 })
  expect(ticks).toBeGreaterThan(20)
  expect(await names()).toEqual([])

  const waiting = db.write((tx) => put(tx, 'b'))
  await simulateDelay(100)
  foreign.run('ROLLBACK')
  await waiting
  expect(await names()).toEqual(['b'])
})

test('a full disk fails the whole commit with insufficient_storage, and writing works again later', async () => {
  const { db, client, put, names } = await openTestDb()
  const { page_count: pages } = client.query('PRAGMA page_count').get() as { page_count: number }
  client.run(`PRAGMA max_page_count = ${pages}`)
  const fill = (name: string) => db.write((tx) => put(tx, name.repeat(20_000)))
  const outcomes = await Promise.allSettled(['a', 'b', 'c'].map(fill))
  for (const outcome of outcomes) {
    expect(outcome).toMatchObject({ status: 'rejected', reason: { code: 'insufficient_storage' } })
  }
  expect(await names()).toEqual([])
  client.run('PRAGMA max_page_count = 100000')
  await fill('d')
  expect(await names()).toHaveLength(1)
})

test('writes nothing after stopWriting', async () => {
  const { db, put, names } = await openTestDb()
  const before = db.write((tx) => put(tx, 'a'))
  await db.stopWriting('test')
  await before
  await expect(db.write((tx) => put(tx, 'b'))).rejects.toMatchObject({ code: 'unavailable' })
  expect(await names()).toEqual(['a'])
})

test('every connection is durable and checks foreign keys', async () => {
  const { db, client } = await openTestDb()
  const pragma = (name: string) => Object.values(client.query(`PRAGMA ${name}`).get() as object)[0]
  expect(pragma('journal_mode')).toBe('wal')
  expect(pragma('synchronous')).toBe(2)
  expect(pragma('foreign_keys')).toBe(1)
  expect(pragma('busy_timeout')).toBe(0)
  const orphan = { key: 'k', userId: 'nobody', type: 't', fileName: 'f', itemType: 'i', size: 1 }
  const insert = db.write(async (tx) => {
    await tx.insert(db.tables.attachments).values({ ...orphan, createdAt: new Date() })
  })
  await expect(insert).rejects.toThrow()
})

test(`a migration that rebuilds a parent table keeps its children ${fault(23)}`, async () => {
  const { client } = await openTestDb()
  client.run(`INSERT INTO rate_sets VALUES ('s', 'ecb', 'EUR', '2026-07-06', 1, 1)`)
  client.run(`INSERT INTO rates VALUES ('s', 'USD', 1.1)`)
  const rebuild = `CREATE TABLE n (id text PRIMARY KEY, provider text, base_code text, date text, published_at integer, stored_at integer);
--> statement-breakpoint
INSERT INTO n SELECT * FROM rate_sets;
--> statement-breakpoint
DROP TABLE rate_sets;
--> statement-breakpoint
ALTER TABLE n RENAME TO rate_sets;`
  migrate(client, [...migrations, migration('rebuild', rebuild)])
  expect(client.query('SELECT count(*) AS n FROM rates').get()).toEqual({ n: 1 })
  expect(client.query('PRAGMA foreign_keys').get()).toEqual({ foreign_keys: 1 })
})

test(`a failing migration changes nothing, and neither do those before it ${fault(24)}`, async () => {
  const { client } = await openTestDb()
  const schema = () => JSON.stringify(client.query('SELECT sql FROM sqlite_master').all())
  const before = schema()
  const good = migration('good', 'CREATE TABLE good (a)')
  const bad = migration('bad', 'CREATE TABLE bad (a)--> statement-breakpoint\nNONSENSE')
  const orphaning = migration('orphan', `INSERT INTO rates VALUES ('none', 'USD', 1)`)
  expect(() => migrate(client, [...migrations, good, bad])).toThrow()
  expect(() => migrate(client, [...migrations, good, orphaning])).toThrow('without a parent')
  expect(schema()).toBe(before)
  expect(schemaVersion(client)).toBe(migrations.length)
})

test(`refuses a newer database, a foreign one and garbage without changing them ${fault(26)}`, async () => {
  const { path, client } = await openTestDb()
  expect(await explainCannotOpen(path, migrations)).toBeNull()
  expect(await explainCannotOpen(`${path}.none`, migrations)).toBeNull()
  client.run(`PRAGMA user_version = ${migrations.length + 1}`)
  expect(await explainCannotOpen(path, migrations)).toContain('newer version of Homeport')

  const foreign = `${path}.foreign`
  const other = new Database(foreign)
  other.run('CREATE TABLE theirs (a)')
  other.close()
  const garbage = `${path}.garbage`
  await Bun.write(garbage, 'x'.repeat(10_000))
  for (const file of [foreign, garbage]) {
    const before = await Bun.file(file).bytes()
    expect(await explainCannotOpen(file, migrations)).toContain('restore it from a backup')
    expect(await Bun.file(file).bytes()).toEqual(before)
  }
})

function migration(tag: string, sql: string): Migration {
  return { tag, statements: sql.split('--> statement-breakpoint') }
}

function row(name: string) {
  return { name, version: 1 }
}

async function openTestDb() {
  const folder = await mkdtemp(join(tmpdir(), 'homeport-db-'))
  cleanups.push(() => rm(folder, { recursive: true, force: true }))
  const path = join(folder, 'homeport.db')
  const client = openDatabase(path)
  migrate(client, migrations)
  const db = createDb(client, buildTables(sqliteColumns), [])
  cleanups.push(() => db.close())
  const { contentVersions } = db.tables
  return { db, client, path, put, names }

  async function put(tx: Parameters<Parameters<typeof db.write>[0]>[0], name: string) {
    await tx.insert(contentVersions).values(row(name))
    await tx.select().from(contentVersions).where(eq(contentVersions.name, name))
  }

  async function names(): Promise<string[]> {
    const rows = await db.read.select().from(contentVersions)
    return rows.map(({ name }) => name).toSorted()
  }
}
