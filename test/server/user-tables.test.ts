import { expect, test } from 'bun:test'
import { type Column, eq, getTableColumns, getTableName } from 'drizzle-orm'
import { getTableConfig, type SQLiteTable } from 'drizzle-orm/sqlite-core'
import { sqliteColumns } from '../../src/platform/db/sqlite/columns.ts'
import { byForeignKey, type UserTable } from '../../src/platform/user-table.ts'
import { buildTables } from '../../src/server/declarations.ts'
import { createTestApp, PASSWORD, type TestApp } from '../support/app.ts'

type TableName = keyof TestApp['services']['db']['tables']

/** The SQLite column types distinguish times from numbers. */
const SQLITE_TABLES = buildTables(sqliteColumns)
const PROFILE = '/api/user/profile/v1'
/** Tables with a user column, which is a foreign key or contains app user ids. */
const USER_COLUMNS = Object.entries(SQLITE_TABLES).flatMap(([name, table]) => {
  const columns = getTableConfig(table as SQLiteTable).foreignKeys.flatMap((key) => {
    const { columns, foreignTable } = key.reference()
    return getTableName(foreignTable) === 'users' ? columns : []
  })
  const keys = Object.keys(getTableColumns(table))
  const column = keys.find((key) =>
    columns.some((one) => one === getTableColumns(table)[key as never]),
  )
  const userColumn = column ?? keys.find((key) => /user|owner|member|account|authorId/i.test(key))
  return userColumn === undefined
    ? []
    : [{ name: name as TableName, column: userColumn, isKey: column !== undefined }]
})
const OWNED = USER_COLUMNS.filter(({ isKey }) => isKey)

test('every table that refers to a user declares its deletion, export and merging', async () => {
  await using app = await createTestApp()
  const expected = ['users', ...USER_COLUMNS.map(({ name }) => name)]
  expect(expected.length).toBeGreaterThan(10)
  expect(Object.keys(userDataOf(app)).toSorted()).toEqual(expected.toSorted())
})

test('a table that is not deleted, exported or merged states why', async () => {
  await using app = await createTestApp()
  for (const [name, { deletion, export: members, merging }] of Object.entries(userDataOf(app))) {
    for (const part of [deletion, members, merging]) {
      expect([name, Object.keys(part).length > 0 || typeof part === 'function']).toEqual([
        name,
        true,
      ])
      if (!('nothing' in part)) continue
      const reason = String(part.nothing)
      expect([name, reason, reason.split(' ').length > 3]).toEqual([name, reason, true])
    }
  }
})

test('only tables with a foreign key rely on it for deletion', async () => {
  await using app = await createTestApp()
  const cascading = Object.entries(userDataOf(app)).filter(
    ([, table]) => table.deletion === byForeignKey,
  )
  const keyed = OWNED.map(({ name }) => String(name))
  expect(cascading.map(([name]) => name).filter((name) => !keyed.includes(name))).toEqual([])
})

test('deleting an account leaves no row that refers to the user', async () => {
  await using app = await createTestApp()
  const { accessToken: token, user } = await app.register()
  await fillTables(app, user._id)
  expect((await app.ask('DELETE', PROFILE, { token })).status).toBe(200)
  for (const { name } of OWNED)
    expect([name, await countRows(app, name, user._id)]).toEqual([name, 0])
})

test('the export of each table contains its rows', async () => {
  await using app = await createTestApp()
  const { user } = await app.register()
  await fillTables(app, user._id)
  const exported = await app.services.exportData(user._id)
  for (const { name } of OWNED) {
    const members = Object.keys(userDataOf(app)[name]?.export ?? {}).filter(
      (key) => key !== 'nothing',
    )
    for (const member of members) {
      expect([member, (exported[member] as unknown[]).length > 0]).toEqual([member, true])
    }
  }
})

test('a guest who signs in leaves no rows, and the account gets the merged ones', async () => {
  await using app = await createTestApp()
  const email = 'ann@example.com'
  const { user } = await app.register(email)
  const guest = (await app.ask('POST', '/api/auth/guest/v1')).json.response
  await fillTables(app, guest.user._id)
  const login = { token: guest.accessToken, json: { email, password: PASSWORD } }
  expect((await app.ask('POST', '/api/auth/login/v1', login)).status).toBe(200)
  for (const { name } of OWNED) {
    expect([name, await countRows(app, name, guest.user._id)]).toEqual([name, 0])
    if (typeof userDataOf(app)[name]?.merging !== 'function') continue
    // Merging other tables records changes as well.
    const isMerged = (await countRows(app, name, user._id)) > 0
    expect([name, isMerged]).toEqual([name, true])
  }
})

function userDataOf({ services }: TestApp): Record<string, UserTable> {
  return Object.assign({}, ...services.parts.map(({ userData }) => userData))
}

/** Inserts a row for the user into every table with a foreign key to users. */
async function fillTables({ services: { db } }: TestApp, userId: string) {
  for (const { name, column } of OWNED) {
    const columns = Object.entries(getTableColumns(SQLITE_TABLES[name]))
    const required = columns.filter(([, { notNull, hasDefault }]) => notNull && !hasDefault)
    const values = required.map(([key, one]) => [key, valueFor(one as Column)])
    // Only known kinds of changes are merged.
    const row = { ...Object.fromEntries(values), kind: 'profile' }
    await db.write(async (tx) => {
      await tx.insert(db.tables[name]).values({ ...row, [column]: userId } as never)
    })
  }
}

/** Times are stored as integers, in a custom column type. */
function valueFor(column: Column): unknown {
  const { dataType } = column
  if (dataType === 'number') return 1
  if (dataType === 'boolean') return true
  if (dataType !== 'custom') return dataType === 'json' ? {} : crypto.randomUUID()
  return /int/.test(column.getSQLType()) ? new Date(Date.now() + 3_600_000) : {}
}

async function countRows({ services: { db } }: TestApp, name: TableName, userId: string) {
  const { column } = OWNED.find((one) => one.name === name) as (typeof OWNED)[number]
  const columns = getTableColumns(db.tables[name]) as Record<string, Column>
  return db.read.$count(db.tables[name], eq(columns[column] as Column, userId))
}
