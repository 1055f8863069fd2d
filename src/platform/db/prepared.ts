import { and, type Column, eq, getTableColumns, sql } from 'drizzle-orm'
import type { SQLiteTable } from 'drizzle-orm/sqlite-core'
import type { Db, Prepared, Reader, Tx } from './db.ts'
import { findTableKey } from './table-key.ts'

type Preparing = Pick<Db<unknown>, 'prepareWrite'>

/** Prepares a select that runs outside a change (`from` is `db.read`: it reads the last commit) or inside one. */
export function prepareSelect<Q>(
  db: Pick<Db<unknown>, 'read' | 'prepareWrite'>,
  build: (from: Reader) => { prepare(): Q },
): (from: Reader) => Q {
  const inChange = db.prepareWrite(build)
  let outside: Q | null = null
  return (from) => {
    if (from !== db.read) return inChange(from as Tx)
    outside ??= build(db.read).prepare()
    return outside
  }
}

/** Prepares a query once for each `key`, such as the names of the columns that it changes. */
export function prepareForEach<Q>(
  db: Preparing,
  build: (tx: Tx, key: string) => { prepare(): Q },
): (tx: Tx, key: string) => Q {
  const prepared = new Map<string, Prepared<Q>>()
  return (tx, key) => {
    const known = prepared.get(key) ?? db.prepareWrite((built) => build(built, key))
    prepared.set(key, known)
    return known(tx)
  }
}

/** Finds a row by its primary key, whose columns are text; undefined if there is none. */
export function prepareFind<T extends SQLiteTable>(
  db: Pick<Db<unknown>, 'read' | 'prepareWrite'>,
  table: T,
) {
  const isThis = matchColumns(findTableKey(table))
  const select = prepareSelect(db, (from) =>
    from
      .select()
      .from(table as SQLiteTable)
      .where(isThis),
  )
  return async (from: Reader, key: Partial<T['$inferSelect']>) => {
    const rows: T['$inferSelect'][] = await select(from).execute(key)
    return rows[0]
  }
}

/** Inserts a row. The query is prepared once for each set of columns. */
export function prepareInsert<T extends SQLiteTable>(db: Preparing, table: T) {
  const insert = prepareForEach(db, (tx, names) => insertColumns(tx, table, names))
  return async (tx: Tx, row: T['$inferInsert']) => {
    await insert(tx, listNames(row)).execute(row)
  }
}

/** Inserts a row; false if it conflicts with a stored one. */
export function prepareInsertNew<T extends SQLiteTable>(db: Preparing, table: T) {
  const insert = prepareForEach(db, (tx, names) =>
    insertColumns(tx, table, names).onConflictDoNothing().returning({ one: sql`1` }),
  )
  return async (tx: Tx, row: T['$inferInsert']): Promise<boolean> =>
    (await insert(tx, listNames(row)).execute(row)).length > 0
}

/** Inserts a row and returns it as stored. */
export function prepareInsertReturning<T extends SQLiteTable>(db: Preparing, table: T) {
  const insert = prepareForEach(db, (tx, names) => insertColumns(tx, table, names).returning())
  return async (tx: Tx, row: T['$inferInsert']): Promise<T['$inferSelect']> => {
    const stored = await insert(tx, listNames(row)).execute(row)
    return (stored as T['$inferSelect'][])[0] as T['$inferSelect']
  }
}

/** Updates the row with the given primary key, if there is one. */
export function prepareUpdate<T extends SQLiteTable>(db: Preparing, table: T) {
  const key = findTableKey(table)
  if (key.length === 0) throw new Error('the table has no primary key')
  const update = prepareForEach(db, (tx, names) =>
    tx
      .update(table)
      .set(placeholders(names.split(' ')) as never)
      .where(matchColumns(key)),
  )
  return async (tx: Tx, key: Partial<T['$inferSelect']>, changes: Partial<T['$inferInsert']>) => {
    await update(tx, listNames(changes)).execute({ ...changes, ...key })
  }
}

/** Deletes the rows that have the given values in the named columns. */
export function prepareRemove<T extends SQLiteTable, N extends keyof T['$inferSelect'] & string>(
  db: Preparing,
  table: T,
  ...names: N[]
) {
  const columns: Record<N, Column> = getTableColumns(table)
  const isOne = matchColumns(names.map((name) => ({ name, column: columns[name] })))
  const remove = db.prepareWrite((tx) => tx.delete(table).where(isOne))
  return async (tx: Tx, values: Pick<T['$inferSelect'], N>) => {
    await remove(tx).execute(values)
  }
}

/**
 * Inserts a whole row, or replaces the one with the same primary key. `changing`: the columns that may differ then;
 * SQLite writes the indexes of every column that is set. By default all of them.
 */
export function prepareUpsert<T extends SQLiteTable>(
  db: Preparing,
  table: T,
  changing?: (keyof T['$inferSelect'])[],
) {
  const upsert = db.prepareWrite((tx) => {
    const key = findTableKey(table)
    const values = placeholders(Object.keys(getTableColumns(table)))
    const isChanged = (name: string) =>
      changing?.includes(name) ?? !key.some((one) => one.name === name)
    const changed = Object.entries(values).filter(([name]) => isChanged(name))
    return tx
      .insert(table)
      .values(values as T['$inferInsert'])
      .onConflictDoUpdate({
        target: key.map(({ column }) => column) as never,
        set: Object.fromEntries(changed) as never,
      })
  })
  return async (tx: Tx, row: T['$inferSelect']) => {
    await upsert(tx).execute(row)
  }
}

function insertColumns<T extends SQLiteTable>(tx: Tx, table: T, names: string) {
  return tx.insert(table).values(placeholders(names.split(' ')) as T['$inferInsert'])
}

/** The values are named like the columns. They are not encoded: text and integers only. */
function matchColumns(columns: { name: string; column: Column }[]) {
  return and(...columns.map(({ name, column }) => eq(column, sql.placeholder(name))))
}

function listNames(values: object): string {
  return Object.keys(values).join(' ')
}

function placeholders(names: string[]): Record<string, unknown> {
  return Object.fromEntries(names.map((name) => [name, sql.placeholder(name)]))
}
