import {
  Column,
  type DriverValueDecoder,
  getTableName,
  is,
  Param,
  Placeholder,
  type Query,
  SQL,
  Subquery,
} from 'drizzle-orm'

export type Values = Record<string, unknown>
type Encode = (values: Values) => unknown
export type Fields = { path: string[]; field: Column | SQL | SQL.Aliased | Subquery }[]
/** The joined tables by name: false for a table whose outer join may find no row. */
export type Joins = Record<string, boolean> | undefined

/** Runs a statement and returns its rows as arrays. */
export type Run = (sql: string, params: unknown[]) => Promise<unknown[][]>

/** A query for drizzle's builders that `run` executes. Its encoders and decoders are prepared once. */
export function createAsyncQuery(run: Run, query: Query, fields: Fields | undefined) {
  const bind = createParamsEncoder(query.params)
  let decode: ((row: unknown[]) => Values) | null = null
  const prepared = {
    /** drizzle sets the joins after it has created the query. */
    joinsNotNullableMap: undefined as Joins,
    setToken: () => prepared,
    getQuery: () => query,
    async execute(values: Values = {}) {
      const rows = await run(query.sql, bind(values))
      if (!fields) return rows
      decode ??= createDecoder(fields, prepared.joinsNotNullableMap)
      return rows.map(decode)
    },
  }
  return prepared
}

/** Returns a function that encodes a query's parameters, prepared once for all runs. */
export function createParamsEncoder(params: unknown[]): (values: Values) => unknown[] {
  const encoders = params.map(findEncoder)
  return (values) => encoders.map((encode) => encode(values))
}

function findEncoder(param: unknown): Encode {
  if (is(param, Placeholder)) return (values) => findValue(values, param.name)
  if (!is(param, Param) || !is(param.value, Placeholder)) return () => param
  const { encoder, value } = param
  return (values) => encoder.mapToDriverValue(findValue(values, value.name))
}

function findValue(values: Values, name: string): unknown {
  if (!(name in values)) throw new Error(`No value for placeholder "${name}" was provided`)
  return values[name]
}

/** Returns a function that turns rows into objects, as drizzle's mapResultRow does. */
export function createDecoder(fields: Fields, joins: Joins) {
  const slots = fields.map(({ path, field }) => ({ path, decode: createColumnDecoder(field) }))
  const optional = findOptionalGroups(fields, joins)
  return (row: unknown[]) => {
    const result: Values = {}
    for (let at = 0; at < slots.length; at++) {
      const { path, decode } = slots[at] as (typeof slots)[number]
      const raw = row[at]
      const value = raw === null || decode === null ? raw : decode(raw)
      const [first, second] = path as [string, string?]
      if (second === undefined) result[first] = value
      else findGroup(result, first)[second] = value
    }
    for (const { name, key } of optional) {
      if ((result[name] as Values)[key] === null) result[name] = null
    }
    return result
  }
}

function findGroup(result: Values, name: string): Values {
  result[name] ??= {}
  return result[name] as Values
}

/** Returns a function that decodes a column; null when the database's value needs no decoding. */
function createColumnDecoder(field: Fields[number]['field']): ((raw: unknown) => unknown) | null {
  if (is(field, Column)) {
    const isPlain = field.mapFromDriverValue === Column.prototype.mapFromDriverValue
    return isPlain ? null : (raw) => field.mapFromDriverValue(raw)
  }
  const expression = is(field, SQL) ? field : is(field, Subquery) ? field._.sql : field.sql
  const { decoder } = expression as unknown as { decoder: DriverValueDecoder<unknown, unknown> }
  return (raw) => decoder.mapFromDriverValue(raw)
}

/** The result groups of outer-joined tables: such a group is null when its first column is null. */
function findOptionalGroups(fields: Fields, joins: Joins) {
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
