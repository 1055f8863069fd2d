import { type ComponentChildren, Fragment } from 'preact'
import { apiAddress, download } from '../api.ts'
import { formatCount } from '../format.ts'
import { canEdit } from '../operator.ts'
import { query, withQuery } from '../router.ts'
import { Action, Empty, PlainTimes, Time, TimeAgo } from './parts.tsx'
import { Loaded, type Pages, readId } from './remote.tsx'

/** A property of the rows, shown unchanged without `format`. Sorts in the browser, for complete lists. */
type Field<Row> = {
  [Name in keyof Row]: { field: Name; format?: (value: Row[Name]) => ComponentChildren }
}[keyof Row]

/** The content of a cell; null or an empty string hides it on a phone. */
type Cell<Row> = {
  cell: (row: Row) => ComponentChildren
  /** Sorts in the browser, for complete lists. Without it, the server sorts. */
  value?: (row: Row) => string | number | null
}

export type Column<Row> = (Field<Row> | Cell<Row>) & {
  name: string
  kind?: 'number' | 'actions'
  /**
   * On a phone: `aside` of the row's title (its first column), in the `line` below it with the column's name (default),
   * or nowhere, because the row's own screen has the value.
   */
  onPhone?: 'aside' | 'line' | 'omitted'
  /** The column's name in the URL, if it is sortable; a leading `-`: descending first. */
  sort?: string
}

type TableProps<Row> = {
  /** The name of the list, for screen readers. */
  caption: string
  columns: (Column<Row> | false)[]
  rows: Row[]
  keyOf: (row: Row) => string
  empty?: ComponentChildren
  /** The order of the list when the URL names none, such as `-received`. */
  order?: string
  /** More about a row, below it across all columns. */
  detail?: (row: Row) => ComponentChildren
}

/** A list with headings. On a phone, each row becomes a title with a line of values; the title's link covers it. */
export function Table<Row>(props: TableProps<Row>) {
  const { caption, rows, keyOf, empty, order = '', detail } = props
  const columns = props.columns.filter((column) => column !== false)
  if (rows.length === 0) return empty === undefined ? null : <Empty>{empty}</Empty>
  const wanted = query.value.get('sort') ?? ''
  // The URL may name a column of another table on the screen.
  const current = columns.some(({ sort }) => sort && readName(sort) === readName(wanted))
    ? wanted
    : order
  const rowsHaveScreens = columns.some(({ onPhone }) => onPhone === 'omitted')
  return (
    <PlainTimes.Provider value={rowsHaveScreens}>
      <table class="rows">
        <caption class="unseen">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <Heading key={column.name} column={column} current={current} />
            ))}
          </tr>
        </thead>
        <tbody>
          {sortRows(rows, columns, current).map((row) => {
            const more = detail?.(row)
            return (
              <Fragment key={keyOf(row)}>
                <tr>
                  {columns.map((column) => (
                    <td
                      key={column.name}
                      class={`${column.kind ?? ''} ${column.onPhone ?? ''}`}
                      data-label={column.name}
                    >
                      {showCell(column, row)}
                    </td>
                  ))}
                </tr>
                {more && (
                  <tr class="detail">
                    <td colSpan={columns.length}>{more}</td>
                  </tr>
                )}
              </Fragment>
            )
          })}
        </tbody>
      </table>
    </PlainTimes.Provider>
  )
}

function showCell<Row>(column: Column<Row>, row: Row): ComponentChildren {
  if ('cell' in column) return column.cell(row)
  const { field, format = (value) => value as ComponentChildren } = column
  return format(row[field])
}

/** Formats of columns. */
export const asTimeAgo = (at: string | null) => <TimeAgo at={at} />
export const asTime = (at: string | null) => at && <Time at={at} />

type HeadingProps = { column: Pick<Column<never>, 'name' | 'kind' | 'sort'>; current: string }

function Heading({ column: { name, kind, sort }, current }: HeadingProps) {
  if (kind === 'actions') {
    return (
      <th scope="col">
        <span class="unseen">{name}</span>
      </th>
    )
  }
  if (sort === undefined) {
    return (
      <th scope="col" class={kind}>
        {name}
      </th>
    )
  }
  const isCurrent = readName(sort) === readName(current)
  const next = isCurrent ? reversed(current) : sort
  return (
    <th
      scope="col"
      class={kind}
      aria-sort={isCurrent ? (current.startsWith('-') ? 'descending' : 'ascending') : 'none'}
    >
      <a href={withQuery({ sort: next })}>{name}</a>
    </th>
  )
}

type PagedTableProps<T, Row> = Omit<TableProps<Row>, 'rows' | 'keyOf' | 'empty'> & {
  pages: Pages<T, Row>
  /** What a row is, such as `event`. */
  noun: string
  /** More actions on all rows. */
  bar?: ComponentChildren
  /** Shown instead of an empty list. */
  empty: ComponentChildren
  /** Other content above and below the rows. */
  above?: (page: T) => ComponentChildren
  below?: (page: T) => ComponentChildren
}

/** A list that the server sends in pages, with its length and its download. */
export function PagedTable<T, Row extends { id: string } | { key: string }>(
  props: PagedTableProps<T, Row>,
) {
  const { pages, noun, bar, empty, above, below, ...table } = props
  const { path, first, rows, next, total, loadMore } = pages
  const isEmpty = rows.length === 0 && next === null
  return (
    <Loaded from={first}>
      {(page) => (
        <>
          {above?.(page)}
          {!isEmpty && (
            <ListBar noun={noun} total={total} csv={path} isPersonal>
              {bar}
            </ListBar>
          )}
          <Table {...table} rows={rows} keyOf={readId} empty={isEmpty ? empty : undefined} />
          {below?.(page)}
          {next !== null && <Action run={loadMore}>Load more</Action>}
        </>
      )}
    </Loaded>
  )
}

type BarProps = {
  noun: string
  /** The number of rows, counted to 1,001 at most; null if the server cannot count them. */
  total: number | null
  /** The path of the list, if it can be downloaded. */
  csv?: string
  /** Whether the list contains personal data, which operators export after a proof. */
  isPersonal?: boolean
  children?: ComponentChildren
}

/** How many rows a list has, and its download. */
export function ListBar({ noun, total, csv, isPersonal = false, children }: BarProps) {
  return (
    <div class="list-bar">
      <span class="soft">{total !== null && formatCount(total, noun)}</span>
      {children}
      {csv !== undefined && !isPersonal && (
        <a href={apiAddress(toExportPath(csv))} download>
          Download CSV
        </a>
      )}
      {csv !== undefined && isPersonal && canEdit.value && (
        <Action kind="quiet" run={() => download(toExportPath(csv))}>
          Download CSV
        </Action>
      )}
    </div>
  )
}

function toExportPath(path: string): string {
  const [list, search] = path.split('?')
  return `${list}/export.csv?${search ?? ''}`
}

function readName(sort: string): string {
  return sort.replace(/^-/, '')
}

function reversed(sort: string): string {
  return sort.startsWith('-') ? sort.slice(1) : `-${sort}`
}

/** Sorts the rows in the browser if their column allows it; empty values are last. */
function sortRows<Row>(rows: Row[], columns: Column<Row>[], order: string): Row[] {
  const column = columns.find(({ sort }) => sort && readName(sort) === readName(order))
  if (column === undefined || ('cell' in column && !column.value)) return rows
  const value = (row: Row) =>
    'cell' in column ? (column.value?.(row) ?? null) : (row[column.field] ?? null)
  const sign = order.startsWith('-') ? -1 : 1
  return rows.toSorted((one, other) => {
    const [a, b] = [value(one), value(other)]
    if (a === null || b === null) return Number(a === null) - Number(b === null)
    if (typeof a === 'number' && typeof b === 'number') return sign * (a - b)
    return sign * String(a).localeCompare(String(b))
  })
}
