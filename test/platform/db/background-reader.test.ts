import { afterAll, expect, test } from 'bun:test'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { eq, sql } from 'drizzle-orm'
import { alias, integer, sqliteTable, text } from 'drizzle-orm/sqlite-core'
import { createDb } from '../../../src/platform/db/sqlite/create-db.ts'
import { openDatabase } from '../../../src/platform/db/sqlite/open.ts'
import { simulateDelay } from '../../support/until.ts'

const folder = await mkdtemp(join(tmpdir(), 'homeport-reader-'))
const client = openDatabase(join(folder, 'test.db'))
client.run('CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT, seal BLOB)')
client.run("INSERT INTO notes VALUES (1, 'first', x'00ff')")
const db = createDb(client, {}, null)
const errors: string[] = []
db.readInBackground((message) => errors.push(message))
afterAll(async () => {
  await db.close()
  await rm(folder, { recursive: true })
})

/** Counts for about a second. */
const SLOW = sql`(WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 3000000) SELECT count(*) AS n FROM numbers)`

test('a slow select does not block the event loop', async () => {
  await readNotes()
  let turns = 0
  const timer = setInterval(() => turns++, 5)
  const [row] = await db.read.select({ n: sql<number>`n` }).from(SLOW)
  clearInterval(timer)
  expect(row).toEqual({ n: 3_000_000 })
  expect(turns).toBeGreaterThan(10)
})

test('returns the same values, as of the last commit', async () => {
  expect(await readNotes()).toEqual([{ text: 'first', seal: new Uint8Array([0, 255]) }])
  await db.write(async () => client.run("UPDATE notes SET text = 'second'"))
  expect(await readNotes()).toMatchObject([{ text: 'second' }])
  expect(await db.read.$count(sql`notes`)).toBe(1)
  expect(errors).toEqual([])
})

test('the group of an outer join without a match is null', async () => {
  const notes = sqliteTable('notes', { id: integer().primaryKey(), text: text() })
  const other = alias(notes, 'other')
  const [row] = await db.read
    .select({ id: notes.id, other: { id: other.id, text: other.text } })
    .from(notes)
    .leftJoin(other, eq(other.id, 2))
  expect(row).toEqual({ id: 1, other: null })
})

test('a query whose thread ends is run again', async () => {
  const reading = db.read.select({ n: sql<number>`n` }).from(SLOW)
  const result = reading.then((rows) => rows)
  await simulateDelay(100)
  db.dropCaches()
  expect(await result).toEqual([{ n: 3_000_000 }])
  expect(await readNotes()).toHaveLength(1)
})

test('passes on the query’s error', async () => {
  const reading = db.read.select({ n: sql`missing` }).from(sql`notes`)
  expect(async () => await reading).toThrow('no such column: missing')
})

function readNotes() {
  return db.read.select({ text: sql`text`, seal: sql`seal` }).from(sql`notes`)
}
