import type { Database, SQLQueryBindings, Statement } from 'bun:sqlite'
import type { SQL } from 'drizzle-orm'
import { BunSQLiteDatabase, type PreparedQuery, SQLiteBunSession } from 'drizzle-orm/bun-sqlite'
import { type PreparedQueryConfig, SQLiteSyncDialect } from 'drizzle-orm/sqlite-core'
import { decoderOf, encoderOfParams, type Joins, type Values } from '../compiled-query.ts'

type Session = SQLiteBunSession<Record<string, never>, Record<string, never>>
type PrepareArguments = Parameters<Session['prepareQuery']>

/**
 * drizzle over `client` with encoders and decoders prepared once per query; drizzle itself does that on every run. The
 * results are the same. `beforeSelect` is called before each prepared select, `beforeAny` before every statement.
 */
export function compilingDrizzle(
  client: Database,
  { beforeSelect = () => {}, beforeAny = () => {} } = {},
): BunSQLiteDatabase {
  const dialect = new SQLiteSyncDialect({ casing: 'snake_case' })
  const session: Session = new CompilingSession(client, dialect, beforeSelect, beforeAny)
  return new BunSQLiteDatabase('sync', dialect, session, undefined)
}

class CompilingSession extends SQLiteBunSession<Record<string, never>, Record<string, never>> {
  readonly #beforeSelect: () => void
  readonly #beforeAny: () => void

  constructor(
    client: Database,
    dialect: SQLiteSyncDialect,
    beforeSelect: () => void,
    beforeAny: () => void,
  ) {
    super(client, dialect, undefined)
    this.#beforeSelect = beforeSelect
    this.#beforeAny = beforeAny
  }

  override prepareQuery<T extends Omit<PreparedQueryConfig, 'run'>>(...args: PrepareArguments) {
    const prepared = super.prepareQuery<T>(...args)
    const execute = compile(prepared, args, this.#beforeSelect)
    if (execute) prepared.execute = execute as typeof prepared.execute
    return this.#guarded(prepared)
  }

  /** Not compiled: that would not pay off for a single run. */
  override prepareOneTimeQuery(...args: PrepareArguments) {
    return this.#guarded(super.prepareQuery(...args))
  }

  override async count(query: SQL): Promise<number> {
    this.#beforeAny()
    return super.count(query)
  }

  /** Guards every method that runs the query: builders use `run` and `all`. */
  #guarded<T extends PreparedQuery>(prepared: T): T {
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

function compile(
  prepared: PreparedQuery,
  [query, fields, method, , mapper]: PrepareArguments,
  beforeSelect: () => void,
) {
  const statement = prepared['stmt'] as Statement
  const bind = encoderOfParams(query.params) as (values: Values) => SQLQueryBindings[]
  if (method === 'run') return async (values: Values = {}) => statement.run(...bind(values))
  if (method !== 'all' || !fields || mapper) return null
  let decode: ((row: unknown[]) => Values) | null = null
  return async (values: Values = {}) => {
    // drizzle sets the joins after it has created the query.
    decode ??= decoderOf(fields, (prepared as { joinsNotNullableMap?: Joins }).joinsNotNullableMap)
    beforeSelect()
    return statement.values(...bind(values)).map(decode)
  }
}
