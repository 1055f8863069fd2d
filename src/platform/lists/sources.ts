import { and, asc, desc, getTableColumns, gt, lt, type SQL, sql } from 'drizzle-orm'
import type {
  Reader,
  SelectedFields,
  SelectResultFields,
  SQLiteColumn,
  SQLiteTable,
} from '../db/db.ts'
import { countUpTo } from '../db/key-ranges.ts'
import { pageUnknown, type Source } from './find-page.ts'

type ListedTable<Table extends SQLiteTable, Columns extends SelectedFields> = {
  read: Reader
  table: Table
  /** Unique: the order of the rows, or of those with the same time. */
  key: SQLiteColumn
  /** What a row consists of: all columns of the table by default. */
  columns?: Columns
  isDescending: boolean
  /** The tables of other columns; each row has one row there. */
  joins?: [table: SQLiteTable, on: SQL][]
  /** Those of the rows that match a condition which the database does not know. */
  keep?: Keep<SelectResultFields<Columns>> | null
}

type Keep<Row> = (rows: Row[]) => Promise<Row[]>

/** A part of a filter; without `where`, this filter does not have it. */
export type Condition = {
  /** For the cursor, if the list's indexes are sorted in different ways. */
  name?: string
  where: SQL | undefined
  /** Whether an index finds the rows, in the order of the list. */
  isIndexed: boolean
  /** The time by which that index is sorted, before the key. */
  sortedBy?: SQLiteColumn
}

type Place = { key: string; time: unknown; isMatch: unknown }

/** The sources of a filter whose conditions must all hold: one for each that has an index, or else all rows. */
export function createSources<
  Table extends SQLiteTable,
  Columns extends SelectedFields = Table['_']['columns'],
>(list: ListedTable<Table, Columns>, conditions: Condition[]) {
  type Row = SelectResultFields<Columns>
  const { read, table, key, isDescending, joins = [], keep = null } = list
  const columns = (list.columns ?? getTableColumns(table)) as Columns
  const [isBehind, inOrder, sign] = isDescending ? [lt, desc, '<'] : [gt, asc, '>']
  const given = conditions.filter(({ where }) => where !== undefined)
  const indexed = given.filter(({ isIndexed }) => isIndexed)
  const isNamed = conditions.some(({ name }) => name !== undefined)
  const all: Condition = { ...(isNamed && { name: 'all' }), where: undefined, isIndexed: true }
  return (indexed.length > 0 ? indexed : [all]).map(createSource)

  function createSource(condition: Condition): Source<Row> {
    const { name = null, where, sortedBy } = condition
    const rest = and(...given.filter((one) => one !== condition).map((one) => one.where))
    return {
      name,
      isComplete: rest === undefined && keep === null,
      countUpTo: (max) => countUpTo(read, table, key, where, max),
      async read(position, limit) {
        const place = { key, time: sortedBy ?? key, isMatch: rest ?? sql`true` }
        const query = read
          .select({ ...columns, place })
          .from(table)
          .$dynamic()
        for (const [other, on] of joins) query.innerJoin(other, on)
        const found = (await query
          // The position first: of two bounds of an index, SQLite uses the first.
          .where(and(position === null ? undefined : isAfter(position, sortedBy), where))
          .orderBy(...(sortedBy ? [inOrder(sortedBy)] : []), inOrder(key))
          .limit(limit)) as (Row & { place: Place })[]
        const rows = found.map(({ place, ...row }) => ({ row: row as Row, place }))
        const matches = rows.filter(({ place }) => place.isMatch).map(({ row }) => row)
        const kept = new Set(keep === null ? matches : await keep(matches))
        return rows.map(({ row, place: { time, key: last } }) => ({
          row,
          position: sortedBy ? `${Number(time)}-${last}` : last,
          isMatch: kept.has(row),
        }))
      },
    }
  }

  function isAfter(position: string, sortedBy: SQLiteColumn | undefined): SQL {
    if (sortedBy === undefined) return isBehind(key, position)
    // Earlier versions wrote a space or a dot for the hyphen.
    const [, ms, last] = /^(\d{1,15})[-. ](.+)$/.exec(position) ?? []
    if (ms === undefined) throw pageUnknown()
    return sql`(${sortedBy}, ${key}) ${sql.raw(sign)} (${Number(ms)}, ${last})`
  }
}
