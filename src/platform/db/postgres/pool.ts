import { type ReservedSQL, SQL } from 'bun'
import { isConnectionLost, ResponseTimeout } from './errors.ts'

/** Runs one statement and answers its rows as arrays. */
export type Run = (query: string, params: unknown[]) => Promise<unknown[][]>

/** A connection of one's own, until it is released; one that `isBroken` is closed. `patience`: in place of the deadline. */
export type Connection = {
  run(query: string, params: unknown[], patience?: number): Promise<unknown[][]>
  release(isBroken: boolean): void
}

type PoolOptions = {
  url: string
  max: number
  /** How long an answer is waited for, in ms. */
  deadline: number
}

export type Pool = ReturnType<typeof createPool>

/** Statements that vary fill the memory of a connection's other end: each lives for so long at most, in seconds. */
const MAX_LIFETIME = 30 * 60
const RETRIES = [10, 50, 200, 500]

/** Connections to the server. The driver has no deadlines: a server that is silent gets new connections. */
export function createPool({ url, max, deadline }: PoolOptions) {
  let sql = connect()
  let answeredAt = performance.now()
  return { read, reserve, close: () => sql.close({ timeout: 0 }) }

  /** Runs a statement that changes nothing, again where the connection is lost. */
  async function read(query: string, params: unknown[]): Promise<unknown[][]> {
    const start = performance.now()
    for (let tries = 0; ; tries++) {
      try {
        const from = sql
        return await within(from, () => from.unsafe(query, params).values())
      } catch (error) {
        const wait = RETRIES[tries]
        const isLate = performance.now() - start > deadline
        if (!isConnectionLost(error) || wait === undefined || isLate) throw error
        await Bun.sleep(wait)
      }
    }
  }

  /** A connection of one's own. */
  async function reserve(): Promise<Connection> {
    const from = sql
    const late = { is: false }
    const reserving = from.reserve()
    // One that comes too late is not wanted any more.
    reserving.then((found) => (late.is ? found.release() : undefined)).catch(() => {})
    const reserved: ReservedSQL = await within(from, () => reserving).catch((error) => {
      late.is = true
      throw error
    })
    return {
      run: (query, params, patience) =>
        within(from, () => reserved.unsafe(query, params).values(), patience),
      release(isBroken) {
        // What a broken connection holds is not for the next one.
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
      reject(new ResponseTimeout(`no answer within ${patience} ms`))
    }, patience)
    try {
      const answer = await Promise.race([work(), silence])
      answeredAt = performance.now()
      return answer
    } finally {
      clearTimeout(timer)
    }
  }

  /** Nobody has been answered for a while: what waits is given up, and others take new connections. */
  function replace(silent: SQL) {
    if (silent !== sql) return
    sql = connect()
    silent.close({ timeout: 0 }).catch(() => {})
  }

  function connect(): SQL {
    return new SQL({
      url,
      max,
      maxLifetime: MAX_LIFETIME,
      connectionTimeout: Math.ceil(deadline / 1000),
    })
  }
}
