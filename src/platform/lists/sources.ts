import { and, asc, desc, getTableColumns, gt, lt, type SQL, sql } from 'drizzle-orm'
import type {
  Reader,
  SelectedFields,
  SelectResultFields,
  SQLiteColumn,
  SQLiteTable,
} from '../db/db.ts'
import { countUpTo } from '../db/key-ranges.ts'
import { type Place, pageUnknown, type Source } from './find-page.ts'

type ListedTable<Table extends SQLiteTable, Columns extends SelectedFields> = {
  read: Reader
  table: Table
  /** Unique: the order of the rows, or of those with the same time. */
  key: SQLiteColumn
  /** The columns of a row, including the key and `sortedBy`; all columns of the table by default. */
  columns?: Columns
  isDescending: boolean
  /** The table stays small, so the database may read all of it for a page. */
  isSmall?: boolean
  /** The tables of other columns; each row has exactly one row there. */
  joins?: [table: SQLiteTable, on: SQL][]
  /** Selects the rows that match a condition that the database cannot check. */
  keep?: Keep<SelectResultFields<Columns>> | undefined
}

type Keep<Row> = (rows: Row[]) => Promise<Row[]>

/** A part of a filter; unused in this filter if `where` is undefined. */
export type Condition = {
  /** Begins the cursors, if the list's indexes are sorted in different ways. */
  name?: string
  where: SQL | undefined
  /** Whether an index finds the rows, in the order of the list. */
  isIndexed: boolean
  /** Sorts the rows before the key does. */
  sortedBy?: SQLiteColumn
}

/** The sources of a filter whose conditions must all hold: one for each with an index, or else one with all rows. */
export function createSources<
  Table extends SQLiteTable,
  Columns extends SelectedFields = Table['_']['columns'],
>(list: ListedTable<Table, Columns>, conditions: Condition[]) {
  type Row = SelectResultFields<Columns>
  const { read, table, key, isDescending, isSmall = false, joins = [], keep } = list
  const columns = (list.columns ?? getTableColumns(table)) as Columns
  const [compare, inOrder, sign] = isDescending ? [lt, desc, '<'] : [gt, asc, '>']
  const present = conditions.filter(({ where }) => where !== undefined)
  const indexed = present.filter(({ isIndexed }) => isIndexed)
  const isNamed = conditions.some(({ name }) => name !== undefined)
  const all: Condition = { ...(isNamed && { name: 'all' }), where: undefined, isIndexed: true }
  return (indexed.length > 0 ? indexed : [all]).map(createSource)

  function createSource(condition: Condition): Source<Row> {
    const { name = null, where, sortedBy } = condition
    const rest = and(...present.filter((one) => one !== condition).map((one) => one.where))
    const [filter, isMatch] = isSmall ? [rest] : [undefined, rest]
    return {
      name,
      isComplete: rest === undefined && keep === undefined,
      countUpTo: (max) => countUpTo(read, table, key, where, max),
      async read(position, limit) {
        const query = read
          .select({ ...columns, ...(isMatch && { isMatch }) })
          .from(table)
          .$dynamic()
        for (const [other, on] of joins) query.innerJoin(other, on)
        const rows = (await query
          // The position first: of two bounds of an index, SQLite uses the first.
          .where(and(isAfter(position, sortedBy), where, filter))
          .orderBy(...(sortedBy ? [inOrder(sortedBy)] : []), inOrder(key))
          .limit(limit)) as (Row & { isMatch?: unknown })[]
        const last = rows.at(-1)
        const matches = isMatch ? rows.filter((row) => row.isMatch).map(toRow) : rows
        const kept: Row[] = keep ? await keep(matches) : matches
        return {
          matches: kept.map((row) => toPlace(row, sortedBy)),
          last: last && toPlace(toRow(last), sortedBy),
          isAtEnd: rows.length < limit,
        }
      },
    }
  }

  function toRow({ isMatch: _isMatch, ...row }: Row & { isMatch?: unknown }): Row {
    return row as Row
  }

  function toPlace(row: Row, sortedBy: SQLiteColumn | undefined): Place<Row> {
    const last = readValue(row, key)
    return { row, position: sortedBy ? `${Number(readValue(row, sortedBy))}-${last}` : `${last}` }
  }

  function readValue(row: Row, column: SQLiteColumn): unknown {
    const name = Object.keys(columns).find((one) => columns[one] === column)
    return row[name as keyof Row]
  }

  function isAfter(position: string | null, sortedBy?: SQLiteColumn): SQL | undefined {
    if (position === null) return undefined
    if (sortedBy === undefined) return compare(key, position)
    // Earlier versions wrote a space or a dot instead of the hyphen.
    const [, ms, last] = /^(\d{1,15})[-. ](.+)$/.exec(position) ?? []
    if (ms === undefined) throw pageUnknown()
    return sql`(${sortedBy}, ${key}) ${sql.raw(sign)} (${Number(ms)}, ${last})`
  }
}
