import { expect, test } from 'bun:test'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { is } from 'drizzle-orm'
import { PgTable, getTableConfig as postgresConfig } from 'drizzle-orm/pg-core'
import { type SQLiteTable, getTableConfig as sqliteConfig } from 'drizzle-orm/sqlite-core'
import { postgresColumns } from '../../../src/platform/db/postgres/columns.ts'
import { sharedTables } from '../../../src/platform/db/postgres/schema.ts'
import { sqliteColumns } from '../../../src/platform/db/sqlite/columns.ts'
import { buildTables } from '../../../src/server/declarations.ts'
import { isFeatureLeftOut } from '../../support/left-out.ts'

type Snapshot = {
  tables: Record<
    string,
    {
      name: string
      columns: Record<string, { name: string; type: string; notNull: boolean }>
      indexes: Record<string, unknown>
    }
  >
}

test.each([
  ['sqlite', buildTables(sqliteColumns)],
  ['postgres', { ...buildTables(postgresColumns), ...sharedTables() }],
] as const)('the migrations of %s create the tables that the code defines', (engine, tables) => {
  const folder = join(import.meta.dir, '..', '..', '..', 'drizzle', engine, 'meta')
  const [newest = ''] = readdirSync(folder)
    .filter((name) => name.endsWith('_snapshot.json'))
    .toSorted()
    .toReversed()
  const snapshot: Snapshot = JSON.parse(readFileSync(join(folder, newest), 'utf8'))
  const actual = Object.values(snapshot.tables).map(({ name, columns, indexes }) => ({
    name,
    columns: Object.values(columns)
      .map((one) => `${one.name} ${one.type} ${one.notNull ? 'not null' : ''}`)
      .toSorted(),
    indexes: Object.keys(indexes).toSorted(),
  }))
  const expected = Object.values(tables).map((table) => {
    const { name, columns, indexes } = is(table, PgTable)
      ? postgresConfig(table)
      : sqliteConfig(table as SQLiteTable)
    return {
      name,
      columns: columns
        .map((one) => `${snakeCase(one.name)} ${one.getSQLType()} ${one.notNull ? 'not null' : ''}`)
        .toSorted(),
      indexes: indexes.map(({ config }) => config.name ?? '').toSorted(),
    }
  })
  const defined = new Set(expected.map(({ name }) => name))
  // The tables of a feature that was left out may stay.
  const known = actual.filter(({ name }) => !isFeatureLeftOut || defined.has(name))
  const byName = (a: { name: string }, b: { name: string }) => (a.name < b.name ? -1 : 1)
  expect(known.toSorted(byName)).toEqual(expected.toSorted(byName))
})

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}
