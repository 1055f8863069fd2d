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

export type Values = Record<string, unknown>
type Encode = (values: Values) => unknown
/** What a query selects, in its order. */
export type Fields = { path: string[]; field: Column | SQL | SQL.Aliased | Subquery }[]
/** The tables of a query by name, and whether each has a row in every result; others may be a join's nothing. */
export type Joins = Record<string, boolean> | undefined

/** What makes the values of a query's parameters, decided once for all of its runs. */
export function encoderOfAll(params: unknown[]): (values: Values) => unknown[] {
  const encoders = params.map(encoderOf)
  return (values) => encoders.map((encode) => encode(values))
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
export function decoderOf(fields: Fields, joins: Joins) {
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
