import { Database } from 'bun:sqlite'
import { join } from 'node:path'
import { printTable } from './report.ts'
import type { Side } from './sides.ts'

/** A table or an index, in bytes: `content` excludes the free part of pages. */
type Tree = {
  name: string
  tableName: string
  isIndex: number
  bytes: number
  content: number
  cells: number
}

/** Trees with a smaller share of the file are left out. */
const MIN_SHARE = 0.002

/**
 * Prints the size of tables and indexes, and how much of it is rows. Reads the whole file. A
 * large row lies partly in overflow pages.
 */
export function benchStorage({ dataDir }: Side) {
  using db = new Database(join(dataDir, 'homeport.db'), { readonly: true })
  const trees = db
    .query<Tree, []>(
      `SELECT s.name, coalesce(m.tbl_name, s.name) AS tableName, coalesce(m.type = 'index', 0) AS isIndex,
        s.pgsize AS bytes, s.payload AS content, s.ncell AS cells
      FROM dbstat s LEFT JOIN sqlite_master m ON m.name = s.name
      WHERE s.aggregate = TRUE ORDER BY s.pgsize DESC`,
    )
    .all()
  const file = Bun.file(join(dataDir, 'homeport.db')).size
  const rowsOf = countRows(db, trees)
  const content = sum(trees.filter(({ isIndex }) => !isIndex).map((tree) => tree.content))
  const rows = trees
    .filter(({ bytes }) => bytes > file * MIN_SHARE)
    .map(({ name, tableName, bytes, content }) => {
      const count = rowsOf.get(tableName) ?? 0
      return [
        name,
        toMegabytes(bytes),
        (bytes / count).toFixed(0),
        (content / count).toFixed(0),
        percent(content / bytes),
        percent(bytes / file),
      ]
    })
  printTable(
    'Bytes',
    ['', 'MB', 'bytes per row', 'content per row', 'page fill', 'share of file'],
    rows,
  )
  console.log(
    `\nFile ${toMegabytes(file)} MB, rows ${toMegabytes(content)} MB: ${(file / content).toFixed(2)} times the rows.`,
  )
}

/** The row count of each table that is not empty. */
function countRows(db: Database, trees: Tree[]): Map<string, number> {
  const tables = trees.filter(({ isIndex, cells }) => !isIndex && cells > 0)
  return new Map(
    tables.map(({ name }) => {
      const row = db.query<{ rows: number }, []>(`SELECT count(*) AS rows FROM "${name}"`).get()
      return [name, row?.rows ?? 0]
    }),
  )
}

function sum(values: number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

function toMegabytes(bytes: number): string {
  return (bytes / 1e6).toFixed(1)
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`
}
