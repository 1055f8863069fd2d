import { Database } from 'bun:sqlite'
import { expect, spyOn, test } from 'bun:test'
import { eq, sql } from 'drizzle-orm'
import { type BunSQLiteDatabase, drizzle } from 'drizzle-orm/bun-sqlite'
import fc from 'fast-check'
import { sqliteColumns as c } from '../../../src/platform/db/sqlite/columns.ts'
import { compilingDrizzle } from '../../../src/platform/db/sqlite/compiling-drizzle.ts'

const things = c.table('things', {
  id: c.text().primaryKey(),
  someText: c.text(),
  someInt: c.int(),
  someReal: c.real(),
  someBool: c.bool(),
  someTime: c.ms(),
  someJson: c.json<unknown>(),
  someBlob: c.blob(),
})
const owners = c.table('owners', { thingId: c.text(), name: c.text(), since: c.ms() })

const columns = {
  someText: fc.option(fc.string()),
  someInt: fc.option(fc.maxSafeInteger()),
  someReal: fc.option(fc.double({ noNaN: true, noDefaultInfinity: true })),
  someBool: fc.option(fc.boolean()),
  someTime: fc.option(fc.date({ noInvalidDate: true })),
  someJson: fc.option(fc.jsonValue()),
  someBlob: fc.option(fc.uint8Array().map((bytes) => Buffer.from(bytes))),
}
const thing = fc.record({ id: fc.uuid(), ...columns })
const owner = fc.record({
  thingId: fc.option(fc.uuid()),
  name: fc.option(fc.string()),
  since: fc.option(fc.date({ noInvalidDate: true })),
})

test('prepared queries return the same results as drizzle', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(thing, { maxLength: 5 }),
      fc.array(owner),
      async (rows, ownedRows) => {
        // Some rows have a matching row in the joined table, others have none.
        const owned = ownedRows.map((one, at) => ({ ...one, thingId: rows[at]?.id ?? one.thingId }))
        const ours = await allResults(compilingDrizzle, rows, owned)
        expect(ours).toEqual(await allResults(drizzleItself, rows, owned))
      },
    ),
  )
})

test('queries of the same text share one statement, whatever their parameters and the schema', async () => {
  const client = createDatabase()
  const db = compilingDrizzle(client)
  const compiled = spyOn(client, 'prepare')
  for (const id of ['1', '2', '3']) {
    await db.insert(things).values({ id, someText: id === '2' ? null : id })
    const [row] = await db.select().from(things).where(eq(things.id, id))
    expect(row).toMatchObject({ id, someText: id === '2' ? null : id })
    client.run(`ALTER TABLE things ADD COLUMN extra_${id}`)
  }
  expect(compiled).toHaveBeenCalledTimes(2)
})

test('throws for a missing parameter', async () => {
  const db = compilingDrizzle(createDatabase())
  const byId = db
    .select()
    .from(things)
    .where(eq(things.id, sql.placeholder('id')))
    .prepare()
  await expect(byId.execute({}).then()).rejects.toThrow('No value for placeholder "id"')
})

function drizzleItself(client: Database): BunSQLiteDatabase {
  return drizzle(client, { casing: 'snake_case' })
}

function createDatabase(): Database {
  const client = new Database(':memory:')
  client.run(
    'CREATE TABLE things (id TEXT PRIMARY KEY, some_text TEXT, some_int INTEGER, some_real REAL, some_bool INTEGER, some_time INTEGER, some_json TEXT, some_blob BLOB)',
  )
  client.run('CREATE TABLE owners (thing_id TEXT, name TEXT, since INTEGER)')
  return client
}

/** The results of prepared queries of every kind on a new database. */
async function allResults(
  createClient: (client: Database) => BunSQLiteDatabase,
  rows: (typeof things.$inferInsert)[],
  ownedRows: (typeof owners.$inferInsert)[],
) {
  using client = createDatabase()
  const db = createClient(client)
  const id = sql.placeholder('id')
  const insertThing = db.insert(things).values(placeholders(things)).onConflictDoNothing().prepare()
  const insertOwner = db.insert(owners).values(placeholders(owners)).returning().prepare()
  const updateThing = db
    .update(things)
    .set({ someTime: sql.placeholder('someTime') as never, someInt: 7 })
    .where(eq(things.id, id))
    .prepare()
  const deleteThing = db
    .delete(things)
    .where(eq(things.id, id))
    .returning({ t: things.someTime })
    .prepare()
  const selectAll = db.select().from(things).prepare()
  const byId = db.select({ at: things.someTime }).from(things).where(eq(things.id, id)).prepare()
  const expressions = db
    .select({
      count: sql<number>`count(*)`.mapWith(Number),
      raw: sql<string>`max(${things.someText})`,
      group: { time: things.someTime, both: sql<string>`${things.id} || 'x'`.as('both') },
    })
    .from(things)
    .groupBy(things.id)
    .prepare()
  const joins = [
    db.select().from(things).leftJoin(owners, eq(owners.thingId, things.id)).prepare(),
    db.select().from(things).rightJoin(owners, eq(owners.thingId, things.id)).prepare(),
    db.select().from(things).innerJoin(owners, eq(owners.thingId, things.id)).prepare(),
    db
      .select({ owner: { name: owners.name, since: owners.since }, since: owners.since })
      .from(things)
      .leftJoin(owners, eq(owners.thingId, things.id))
      .prepare(),
    db
      .select({ mixed: { name: owners.name, id: things.id } })
      .from(things)
      .leftJoin(owners, eq(owners.thingId, things.id))
      .prepare(),
  ]
  const results: unknown[] = []
  for (const row of rows) results.push(await insertThing.execute(row))
  for (const row of ownedRows) results.push(await insertOwner.execute(row))
  for (const query of [selectAll, expressions, ...joins]) results.push(await query.execute())
  for (const row of rows) results.push(await byId.execute({ id: row.id }))
  for (const row of rows) results.push(await updateThing.execute({ id: row.id, someTime: null }))
  results.push(await selectAll.execute())
  for (const row of rows) results.push(await deleteThing.execute({ id: row.id }))
  results.push(await selectAll.execute())
  return results
}

function placeholders(table: typeof things | typeof owners) {
  const names = Object.keys(table).filter(
    (name) => name in columns || /^(id|thingId|name|since)$/.test(name),
  )
  return Object.fromEntries(names.map((name) => [name, sql.placeholder(name)])) as never
}
