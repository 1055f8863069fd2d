import { type ReservedSQL, SQL } from 'bun'
import { isConnectionLost, ResponseTimeout } from './errors.ts'

/** Runs one statement and returns its rows as arrays. */
export type Run = (query: string, params: unknown[]) => Promise<unknown[][]>

/** A reserved connection. `release` closes it when it `isBroken`. `patience` replaces the deadline. */
export type Connection = {
  run(query: string, params: unknown[], patience?: number): Promise<unknown[][]>
  release(isBroken: boolean): void
}

type PoolOptions = {
  url: string
  max: number
  /** How long a statement may take, in ms. */
  deadline: number
}

export type Pool = ReturnType<typeof createPool>

/** The server keeps every distinct statement of a connection in memory, so each is closed after this time. */
const MAX_LIFETIME_SECONDS = 30 * 60
const RETRY_DELAYS_MS = [10, 50, 200, 500]

/** Connections to the server. The driver has no deadlines; when the server is silent, they are replaced. */
export function createPool({ url, max, deadline }: PoolOptions) {
  let sql = connect()
  let answeredAt = performance.now()
  return { read, reserve, close: () => sql.close({ timeout: 0 }) }

  /** Runs an idempotent statement, and retries it when the connection is lost. */
  async function read(query: string, params: unknown[]): Promise<unknown[][]> {
    const start = performance.now()
    for (let tries = 0; ; tries++) {
      try {
        const from = sql
        return await within(from, () => from.unsafe(query, params).values())
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
    const late = { is: false }
    const reserving = from.reserve()
    // A connection that arrives too late is released at once.
    reserving.then((found) => (late.is ? found.release() : undefined)).catch(() => {})
    const reserved: ReservedSQL = await within(from, () => reserving).catch((error) => {
      late.is = true
      throw error
    })
    return {
      run: (query, params, patience) =>
        within(from, () => reserved.unsafe(query, params).values(), patience),
      release(isBroken) {
        // A broken connection may still hold a transaction.
        if (isBroken) reserved.close({ timeout: 0 }).catch(() => {})
        else reserved.release()
      },
    }
  }

  async function within<T>(from: SQL, work: () => PromiseLike<T>, patience = deadline): Promise<T> {
    const start = performance.now()
    const { promise: silence, reject } = Promise.withResolvers<never>()
    const timer = setTimeout(() => {
      if (answeredAt < start) replace(from)
      reject(new ResponseTimeout(`no response within ${patience} ms`))
    }, patience)
    try {
      const answer = await Promise.race([work(), silence])
      answeredAt = performance.now()
      return answer
    } finally {
      clearTimeout(timer)
    }
  }

  /** The server is silent: pending statements fail, and later ones get new connections. */
  function replace(silent: SQL) {
    if (silent !== sql) return
    sql = connect()
    silent.close({ timeout: 0 }).catch(() => {})
  }

  function connect(): SQL {
    return new SQL({
      url,
      max,
      maxLifetime: MAX_LIFETIME_SECONDS,
      connectionTimeout: Math.ceil(deadline / 1000),
    })
  }
}
