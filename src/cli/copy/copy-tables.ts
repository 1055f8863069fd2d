import { and, asc, desc, eq, gt, or, type SQL, type Table } from 'drizzle-orm'
import type { OnProgress } from '../../lib/command.ts'
import { CommandError } from '../../lib/command.ts'
import { isConstraintError } from '../../platform/db/constraint.ts'
import type { Db, Reader } from '../../platform/db/db.ts'
import { findTableKey } from '../../platform/db/table-key.ts'

/** The two sides of a copy differ, and retrying would not help. */
export class CopyMismatch extends CommandError {}

type Row = Record<string, unknown>
// biome-ignore lint/suspicious/noExplicitAny: tables of either engine
type AnyTables = Record<string, any>
type Source = { tables: AnyTables; read: Reader }
type Target = Source & Pick<Db<AnyTables>, 'write'>
/** The number of rows of a table, and the SHA-256 of all rows in the order of their key. */
type Digest = { rows: number; hash: string }

const PAGE_ROWS = 1_000
const MAX_PARAMETERS = 30_000
const MAX_BYTES = 4 * 1024 * 1024

/** Copies tables in the order of references and keys, so that an interrupted copy can resume. Then compares both. */
export async function copyTables(
  from: Source,
  to: Target,
  onProgress: OnProgress,
): Promise<number> {
  const names = Object.keys(from.tables)
  const total = await countAll(from, names)
  let done = 0
  for (const name of names) {
    const table = to.tables[name]
    done += await to.read.$count(table)
    const last = await readLastRow(to.read, table)
    for await (const page of readPages(from.read, from.tables[name], last)) {
      for (const rows of splitIntoStatements(page)) {
        await to
          .write(async (tx) => {
            await tx
              .insert(table)
              .values(rows as never)
              .onConflictDoNothing()
          })
          .catch((cause) => {
            // A referenced row may have been added later, with a key below the one at which the copy resumed.
            if (!isConstraintError(cause)) throw cause
            throw new CopyMismatch(`The copy of ${name} lacks referenced rows`, { cause })
          })
        done += rows.length
        onProgress('Copying', done, total)
      }
    }
  }
  let compared = 0
  for (const name of names) {
    const onRows = (rows: number) => {
      compared += rows
      onProgress('Comparing', compared, 2 * total)
    }
    const left = await digest(from.read, from.tables[name], onRows)
    const right = await digest(to.read, to.tables[name], onRows)
    if (left.rows !== right.rows || left.hash !== right.hash) {
      throw new CopyMismatch(`The copy of ${name} differs (${left.rows} and ${right.rows} rows)`)
    }
  }
  return total
}

export async function countAll({ tables, read }: Source, names = Object.keys(tables)) {
  let total = 0
  for (const name of names) total += await read.$count(tables[name])
  return total
}

async function readLastRow(read: Reader, table: Table): Promise<Row | null> {
  const key = findTableKey(table)
  const [row] = await read
    .select()
    .from(table as never)
    .orderBy(...key.map(({ column }) => desc(column)))
    .limit(1)
  return (row as Row | undefined) ?? null
}

async function* readPages(read: Reader, table: Table, start: Row | null): AsyncGenerator<Row[]> {
  const key = findTableKey(table)
  for (let last = start; ; ) {
    const rows: Row[] = await read
      .select()
      .from(table as never)
      .where(last === null ? undefined : after(key, last))
      .orderBy(...key.map(({ column }) => asc(column)))
      .limit(PAGE_ROWS)
    if (rows.length === 0) return
    yield rows
    last = rows.at(-1) ?? null
  }
}

/** The condition for rows whose key is greater than that of `row`, compared column by column. */
function after([first, ...others]: ReturnType<typeof findTableKey>, row: Row): SQL | undefined {
  if (first === undefined) return undefined
  const { column, name } = first
  const greater = gt(column, row[name])
  return others.length === 0 ? greater : or(greater, and(eq(column, row[name]), after(others, row)))
}

/** Splits a page into batches that each fit into one statement. */
function* splitIntoStatements(page: Row[]): Generator<Row[]> {
  const limit = Math.floor(MAX_PARAMETERS / Math.max(1, Object.keys(page[0] ?? {}).length))
  let batch: Row[] = []
  let bytes = 0
  for (const row of page) {
    if (batch.length >= limit || bytes > MAX_BYTES) {
      yield batch
      batch = []
      bytes = 0
    }
    batch.push(row)
    for (const value of Object.values(row)) bytes += estimateSize(value)
  }
  if (batch.length > 0) yield batch
}

function estimateSize(value: unknown): number {
  if (value instanceof Uint8Array) return value.byteLength
  return (typeof value === 'object' ? JSON.stringify(value) : String(value)).length
}

async function digest(read: Reader, table: Table, onRows: (rows: number) => void): Promise<Digest> {
  const hasher = new Bun.CryptoHasher('sha256')
  let count = 0
  for await (const rows of readPages(read, table, null)) {
    for (const row of rows) hasher.update(serializeRow(row))
    count += rows.length
    onRows(rows.length)
  }
  return { rows: count, hash: hasher.digest('hex') }
}

function serializeRow(row: Row): string {
  const values = Object.keys(row)
    .toSorted()
    .map((name) => {
      const value = row[name]
      return value instanceof Uint8Array ? Buffer.from(value).toString('base64') : value
    })
  return `${JSON.stringify(values)}\n`
}
