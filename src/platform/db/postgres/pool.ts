import type { ReservedSQL, SQL } from 'bun'
import { unavailable } from '../storage-error.ts'
import { explain, isConnectionLost, ResponseTimeout } from './errors.ts'

/** A reserved connection. `release` closes a broken one. `timeoutMs` replaces the deadline. */
export type Connection = {
  /** Begins a serializable transaction. Statements may be sent before it has begun, which saves a round trip. */
  begin(settings: Record<string, string>): Promise<unknown>
  run(query: string, params: unknown[], timeoutMs?: number): Promise<unknown[][]>
  release(isBroken: boolean): void
}

type PoolOptions = {
  url: string
  max: number
  /** In ms. */
  deadline: number
}

export type Pool = ReturnType<typeof createPool>

/** The server keeps every distinct statement of a connection in memory, so connections are closed after this time. */
const MAX_LIFETIME_SECONDS = 30 * 60
const RETRY_DELAYS_MS = [10, 50, 200, 500]

/** The driver has no deadlines: connections to a server that stops responding are replaced. */
export function createPool({ url, max, deadline }: PoolOptions) {
  let sql = connect()
  let answeredAt = performance.now()
  return { read, reserve, close: () => sql.close({ timeout: 0 }) }

  /**
   * Runs an idempotent statement, and repeats it if the connection is lost. Cancels a slow one, which would otherwise
   * keep waiting for locks.
   */
  async function read(query: string, params: unknown[]): Promise<unknown[][]> {
    const start = performance.now()
    for (let tries = 0; ; tries++) {
      try {
        const from = sql
        const statement = from.unsafe(query, params).values()
        return await withDeadline(from, statement, { onLate: () => statement.cancel() })
      } catch (error) {
        const wait = RETRY_DELAYS_MS[tries]
        const isLate = performance.now() - start > deadline
        if (!isConnectionLost(error) || wait === undefined || isLate) throw error
        await Bun.sleep(wait)
      }
    }
  }

  async function reserve(): Promise<Connection> {
    const from = sql
    let hasTimedOut = false
    const reserving = from.reserve()
    // A connection that arrives too late is released immediately.
    reserving.then((found) => (hasTimedOut ? found.release() : undefined)).catch(() => {})
    const reserved: ReservedSQL = await withDeadline(from, reserving).catch((error) => {
      hasTimedOut = true
      throw error
    })
    return {
      // A statement without parameters would be sent alone, and the next would have to wait.
      begin: (settings) =>
        Promise.all([
          withDeadline(from, reserved`BEGIN ISOLATION LEVEL SERIALIZABLE`),
          ...Object.entries(settings).map((setting) =>
            withDeadline(from, reserved.unsafe('SELECT set_config($1, $2, true)', setting)),
          ),
        ]),
      run: (query, params, timeoutMs) =>
        withDeadline(from, reserved.unsafe(query, params).values(), { timeoutMs }),
      release(isBroken) {
        // A broken connection may still hold a transaction.
        if (isBroken) reserved.close({ timeout: 0 }).catch(() => {})
        else reserved.release()
      },
    }
  }

  async function withDeadline<T>(
    from: SQL,
    work: PromiseLike<T>,
    { timeoutMs = deadline, onLate = () => {} } = {},
  ): Promise<T> {
    const start = performance.now()
    const { promise: timedOut, reject } = Promise.withResolvers<never>()
    const timer = setTimeout(() => {
      onLate()
      if (answeredAt < start) replace(from)
      reject(new ResponseTimeout(`no response within ${timeoutMs} ms`))
    }, timeoutMs)
    try {
      const answer = await Promise.race([work, timedOut])
      answeredAt = performance.now()
      return answer
    } catch (error) {
      throw explain(error)
    } finally {
      clearTimeout(timer)
    }
  }

  /** When the server does not respond, pending statements fail, and later ones get new connections. */
  function replace(unresponsive: SQL) {
    if (unresponsive !== sql) return
    sql = connect()
    unresponsive.close({ timeout: 0 }).catch(() => {})
  }

  function connect(): SQL {
    // Importing the class would load the driver at each start, even of servers on SQLite.
    return new Bun.SQL({
      url,
      ...parseUrl(url),
      max,
      maxLifetime: MAX_LIFETIME_SECONDS,
      connectionTimeout: Math.ceil(deadline / 1000),
    })
  }
}

/** Every part of the URL: the driver would take missing ones from variables such as `PGDATABASE`. */
function parseUrl(url: string) {
  const { hostname, port, username, password, pathname } = new URL(url)
  const user = decodeURIComponent(username) || 'postgres'
  return {
    hostname: hostname.replace(/^\[|\]$/g, '') || 'localhost',
    port: Number(port || 5432),
    username: user,
    // An empty text would count as missing.
    password: decodeURIComponent(password) || (() => ''),
    database: decodeURIComponent(pathname.slice(1)) || user,
  }
}

/** Lifts the role's time limits for a long transaction; some exist only in newer versions. */
export const END_TIME_LIMITS = `SELECT set_config(name, '0', true) FROM pg_settings WHERE name IN
('statement_timeout', 'idle_in_transaction_session_timeout', 'transaction_timeout')`

/** Throws 503 when the outcome is unknown: a retry is deduplicated by its id. */
export async function commit(connection: Connection) {
  try {
    await connection.run('COMMIT', [])
  } catch (error) {
    throw isConnectionLost(error) ? unavailable(error) : error
  }
}

/** Rolls a failed transaction back; returns whether the connection is broken. */
export async function undo(connection: Connection, error: unknown): Promise<boolean> {
  if (isConnectionLost(error)) return true
  return connection.run('ROLLBACK', []).then(
    () => false,
    () => true,
  )
}
