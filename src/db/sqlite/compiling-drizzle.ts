import type { Database, SQLQueryBindings, Statement } from 'bun:sqlite'
import {
  Column,
  type DriverValueDecoder,
  getTableName,
  is,
  Param,
  Placeholder,
  SQL,
  Subquery,
} from 'drizzle-orm'
import { BunSQLiteDatabase, type PreparedQuery, SQLiteBunSession } from 'drizzle-orm/bun-sqlite'
import { type PreparedQueryConfig, SQLiteSyncDialect } from 'drizzle-orm/sqlite-core'

type Session = SQLiteBunSession<Record<string, never>, Record<string, never>>
type PrepareArguments = Parameters<Session['prepareQuery']>
type Fields = NonNullable<PrepareArguments[1]>
type Values = Record<string, unknown>
type Encode = (values: Values) => unknown
/** The tables of a query by name, and whether each has a row in every result; others may be a join's nothing. */
type Joins = Record<string, boolean> | undefined

/**
 * drizzle over `client`, whose prepared queries decide once how parameters are encoded and rows are decoded;
 * drizzle's own do so at every run. What `execute` answers is the same. `beforeSelect` is called before each select.
 */
export function compilingDrizzle(client: Database, beforeSelect = () => {}): BunSQLiteDatabase {
  const dialect = new SQLiteSyncDialect({ casing: 'snake_case' })
  const session: Session = new CompilingSession(client, dialect, beforeSelect)
  return new BunSQLiteDatabase('sync', dialect, session, undefined)
}

class CompilingSession extends SQLiteBunSession<Record<string, never>, Record<string, never>> {
  readonly #beforeSelect: () => void

  constructor(client: Database, dialect: SQLiteSyncDialect, beforeSelect: () => void) {
    super(client, dialect, undefined)
    this.#beforeSelect = beforeSelect
  }

  override prepareQuery<T extends Omit<PreparedQueryConfig, 'run'>>(...args: PrepareArguments) {
    const prepared = super.prepareQuery<T>(...args)
    const execute = compile(prepared, args, this.#beforeSelect)
    if (execute) prepared.execute = execute as typeof prepared.execute
    return prepared
  }

  /** drizzle's own: compiling would not pay. */
  override prepareOneTimeQuery(...args: PrepareArguments) {
    return super.prepareQuery(...args)
  }
}

function compile(
  prepared: PreparedQuery,
  [query, fields, method, , mapper]: PrepareArguments,
  beforeSelect: () => void,
) {
  const statement = prepared['stmt'] as Statement
  const encoders = query.params.map(encoderOf)
  const bind = (values: Values) => encoders.map((encode) => encode(values)) as SQLQueryBindings[]
  if (method === 'run') return async (values: Values = {}) => statement.run(...bind(values))
  if (method !== 'all' || !fields || mapper) return null
  let decode: ((row: unknown[]) => Values) | null = null
  return async (values: Values = {}) => {
    // drizzle tells the joins only after the query was made.
    decode ??= decoderOf(fields, (prepared as { joinsNotNullableMap?: Joins }).joinsNotNullableMap)
    beforeSelect()
    return statement.values(...bind(values)).map(decode)
  }
}

function encoderOf(param: unknown): Encode {
  if (is(param, Placeholder)) return (values) => valueNamed(values, param.name)
  if (!is(param, Param) || !is(param.value, Placeholder)) return () => param
  const { encoder, value } = param
  return (values) => encoder.mapToDriverValue(valueNamed(values, value.name))
}

function valueNamed(values: Values, name: string): unknown {
  if (!(name in values)) throw new Error(`No value for placeholder "${name}" was provided`)
  return values[name]
}

/** Makes objects of rows, as drizzle's own mapResultRow does. */
function decoderOf(fields: Fields, joins: Joins) {
  const slots = fields.map(({ path, field }) => ({ path, decode: decodeOf(field) }))
  const optional = optionalGroups(fields, joins)
  return (row: unknown[]) => {
    const result: Values = {}
    for (let at = 0; at < slots.length; at++) {
      const { path, decode } = slots[at] as (typeof slots)[number]
      const raw = row[at]
      const value = raw === null || decode === null ? raw : decode(raw)
      const [first, second] = path as [string, string?]
      if (second === undefined) result[first] = value
      else groupOf(result, first)[second] = value
    }
    for (const { name, key } of optional) {
      if ((result[name] as Values)[key] === null) result[name] = null
    }
    return result
  }
}

function groupOf(result: Values, name: string): Values {
  result[name] ??= {}
  return result[name] as Values
}

/** What makes the program's value of a column of the database's; null where they are the same. */
function decodeOf(field: Fields[number]['field']): ((raw: unknown) => unknown) | null {
  if (is(field, Column)) {
    const isPlain = field.mapFromDriverValue === Column.prototype.mapFromDriverValue
    return isPlain ? null : (raw) => field.mapFromDriverValue(raw)
  }
  const expression = is(field, SQL) ? field : is(field, Subquery) ? field._.sql : field.sql
  const { decoder } = expression as unknown as { decoder: DriverValueDecoder<unknown, unknown> }
  return (raw) => decoder.mapFromDriverValue(raw)
}

/** The groups of a table that a join may leave out: they are null where the first column of them is. */
function optionalGroups(fields: Fields, joins: Joins) {
  const groups = Map.groupBy(
    fields.filter(({ path, field }) => path.length === 2 && is(field, Column)),
    ({ path }) => path[0] as string,
  )
  return [...groups].flatMap(([name, columns]) => {
    const tables = new Set(columns.map(({ field }) => getTableName((field as Column).table)))
    const isOptional = tables.size === 1 && joins !== undefined && !joins[[...tables][0] as string]
    return isOptional ? [{ name, key: columns[0]?.path[1] as string }] : []
  })
}
