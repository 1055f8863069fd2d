import type { Database, SQLQueryBindings, Statement } from 'bun:sqlite'
import type { Query, SQL } from 'drizzle-orm'
import { BunSQLiteDatabase, type PreparedQuery, SQLiteBunSession } from 'drizzle-orm/bun-sqlite'
import { type PreparedQueryConfig, SQLiteSyncDialect } from 'drizzle-orm/sqlite-core'
import { createLruMap } from '../../../lib/lru-map.ts'
import {
  createAsyncQuery,
  createDecoder,
  createParamsEncoder,
  type Joins,
  type Run,
  type Values,
} from '../compiled-query.ts'

type Session = SQLiteBunSession<Record<string, never>, Record<string, never>>
type PrepareArguments = Parameters<Session['prepareQuery']>
type Options = {
  beforeSelect?: () => void
  beforeAny?: () => void
  /** Runs the selects that are not prepared. */
  readOnce?: Run
}

/** A statement takes about 10 KB. */
const MAX_STATEMENTS = 100

/** Prepares encoders and decoders once per query; drizzle does it on every run, with the same results. */
export function compilingDrizzle(client: Database, options: Options = {}): BunSQLiteDatabase {
  const dialect = new SQLiteSyncDialect({ casing: 'snake_case' })
  const session: Session = new CompilingSession(client, dialect, options)
  return new BunSQLiteDatabase('sync', dialect, session, undefined)
}

class CompilingSession extends SQLiteBunSession<Record<string, never>, Record<string, never>> {
  readonly #dialect: SQLiteSyncDialect
  readonly #beforeSelect: () => void
  readonly #beforeAny: () => void
  readonly #readOnce: Run | null

  constructor(
    client: Database,
    dialect: SQLiteSyncDialect,
    { beforeSelect = () => {}, beforeAny = () => {}, readOnce }: Options,
  ) {
    super(withStatementCache(client), dialect, undefined)
    this.#dialect = dialect
    this.#beforeSelect = beforeSelect
    this.#beforeAny = beforeAny
    this.#readOnce = readOnce ?? null
  }

  override prepareQuery<T extends Omit<PreparedQueryConfig, 'run'>>(
    ...[query, ...others]: PrepareArguments
  ) {
    const args: PrepareArguments = [withConstantLimits(query), ...others]
    const prepared = super.prepareQuery<T>(...args)
    const execute = compile(prepared, args, this.#beforeSelect)
    if (execute) prepared.execute = execute as typeof prepared.execute
    return this.#guard(prepared)
  }

  // biome-ignore lint/suspicious/noExplicitAny: drizzle exports no type for this
  override prepareOneTimeQuery(...args: PrepareArguments): any {
    const [query, fields] = args
    if (!this.#readOnce) return this.#guard(super.prepareQuery(...args))
    const once = createAsyncQuery(this.#readOnce, query, fields)
    return Object.assign(once, { all: once.execute })
  }

  override async count(query: SQL): Promise<number> {
    this.#beforeAny()
    if (!this.#readOnce) return super.count(query)
    const { sql, params } = this.#dialect.sqlToQuery(query)
    const [[count] = []] = await this.#readOnce(sql, params)
    return Number(count)
  }

  /** Guards every method that runs the query: builders use `run` and `all`. */
  #guard<T extends PreparedQuery>(prepared: T): T {
    for (const name of ['execute', 'run', 'all', 'get', 'values'] as const) {
      const run = prepared[name].bind(prepared) as (values?: Values) => never
      prepared[name] = (values?: Values) => {
        this.#beforeAny()
        return run(values)
      }
    }
    return prepared
  }
}

/** Caches statements: builders that run once would otherwise make SQLite compile the same text each time. */
function withStatementCache(client: Database) {
  const statements = createLruMap<string, Statement>(MAX_STATEMENTS)
  return {
    prepare(text: string) {
      const known = statements.get(text)
      if (known) return known
      const statement = client.prepare(text)
      statements.set(text, statement)
      return statement
    },
  } as Database
}

/** Writes limits as text: SQLite would prepare a query with a bound limit again on every run. Throws for a placeholder. */
function withConstantLimits({ sql, params, ...query }: Query): Query {
  if (!/ (?:limit|offset) \?/.test(sql)) return { ...query, sql, params }
  const kept: unknown[] = []
  const values = params.values()
  const text = sql.replace(/( (?:limit|offset) )?\?/g, (found, keyword?: string) => {
    const { value } = values.next()
    if (keyword === undefined) kept.push(value)
    else if (typeof value !== 'number') throw new Error(`a limit must be a number: ${sql}`)
    return keyword === undefined ? found : keyword + value
  })
  return { ...query, sql: text, params: kept }
}

function compile(
  prepared: PreparedQuery,
  [query, fields, method, , mapper]: PrepareArguments,
  beforeSelect: () => void,
) {
  const statement = prepared['stmt'] as Statement
  const bind = createParamsEncoder(query.params) as (values: Values) => SQLQueryBindings[]
  if (method === 'run') return async (values: Values = {}) => statement.run(...bind(values))
  if (method !== 'all' || !fields || mapper) return null
  let decode: ((row: unknown[]) => Values) | null = null
  return async (values: Values = {}) => {
    // drizzle sets the joins after it has created the query.
    decode ??= createDecoder(
      fields,
      (prepared as { joinsNotNullableMap?: Joins }).joinsNotNullableMap,
    )
    beforeSelect()
    return statement.values(...bind(values)).map(decode)
  }
}
