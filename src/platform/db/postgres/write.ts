import { AsyncLocalStorage } from 'node:async_hooks'
import { createSemaphore } from '../../../lib/semaphore.ts'
import { buildersOf } from '../builders.ts'
import { changeIsOver } from '../change-is-over.ts'
import type { Db, Prepared, Tx, WriteStats } from '../db.ts'
import { unavailable } from '../storage-error.ts'
import { asAppError, isConnectionLost, sqlState } from './errors.ts'
import type { Connection, Pool } from './pool.ts'
import { queriesOver } from './queries.ts'
import { createTurns } from './turns.ts'

/** A change under way. After a statement has failed the server takes no more of it: that failure is the change's. */
type Change = {
  connection: Connection
  effects: (() => void)[]
  retry: Retry
  failure: { error: unknown } | null
  /** Statements that have no answer yet. */
  pending: Set<Promise<unknown>>
  isOver: boolean
}

type WriterDeps = {
  pool: Pool
  /** How many changes run side by side: two less than connections, for the one that is alone and its lock. */
  limit: number
}

/** Tries of a change beside others, before it waits until it is alone. */
const TRIES_BESIDE = 2
/** How often a row that is there already, or a parent that is missing, may be the doing of somebody else. */
const CONSTRAINT_RETRIES = 4
/** For so long a change waits for its turn and is tried again, in all, in ms; after that none is committed. */
const PATIENCE = 7_000
/** By then whoever asked has an answer: a last COMMIT may wait for the server, in ms. */
const ANSWER = 10_500
const QUEUE_LIMIT = 10_000
/** The name of the lock under which changes that met others are alone. */
const LOCK = 0x686f6d65
const BEGIN = "BEGIN ISOLATION LEVEL SERIALIZABLE; SET LOCAL lock_timeout = '200ms'"

/**
 * Every change is one SERIALIZABLE transaction: what is committed is as if one had come after the other, so that no
 * change locks anything. Those that met another are made again; what they do outside of the database they do after.
 */
export function createWriter({ pool, limit }: WriterDeps) {
  const inside = new AsyncLocalStorage<Change>()
  const queries = queriesOver(run)
  const side = createSemaphore({
    limit,
    queueLimit: QUEUE_LIMIT,
    maxWait: PATIENCE,
    waitsToTheEnd: true,
    onFull: () => unavailable(new Error('too many changes wait')),
  })
  const alone = createTurns(locked)
  const tx: Tx = {
    ...buildersOf(queries),
    attempt,
    afterCommit: (effect) => void current().effects.push(effect),
  }
  let refusal: unknown = null
  let waiting = 0
  let commits = 0
  const underWay = new Set<Promise<unknown>>()
  return { write: write as Db<never>['write'], prepareWrite, run, stats, stop }

  function write<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    if (inside.getStore()?.isOver === false) {
      throw new Error('write inside a write would wait for itself: pass tx on instead')
    }
    if (refusal) return Promise.reject(unavailable(refusal))
    waiting++
    const outcome = inTime(untilCommitted(work))
      .catch((error) => Promise.reject(asAppError(error)))
      .finally(() => {
        waiting--
        underWay.delete(outcome)
      })
    underWay.add(outcome)
    return outcome
  }

  function prepareWrite<Q>(build: (tx: Tx) => { prepare(): Q }): Prepared<Q> {
    let query: Q | null = null
    return (given) => {
      if (given !== tx || !inside.getStore())
        throw new Error('a prepared change runs inside write() only')
      query ??= build(tx).prepare()
      return query
    }
  }

  /** Runs a statement as part of the change that is under way. */
  async function run(query: string, params: unknown[]) {
    const change = current()
    if (change.failure) throw change.failure.error
    const answer = change.connection.run(query, params)
    change.pending.add(answer)
    try {
      return await answer
    } catch (error) {
      change.failure ??= { error }
      throw error
    } finally {
      change.pending.delete(answer)
    }
  }

  function stats(): WriteStats {
    return { waiting, commits, changes: commits }
  }

  /** Refuses every further change with 503 and waits for those under way. */
  async function stop(reason: unknown) {
    refusal = reason
    await Promise.allSettled(underWay)
  }

  async function untilCommitted<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const retry = createRetry()
    try {
      return await retried(work, retry)
    } catch (error) {
      // There was no time left to find out whether it was somebody else's doing.
      throw retry.isOver() && retry.blames(error) ? unavailable(error) : error
    }
  }

  /** While changes wait to be alone, those that come would only keep them from it. */
  async function retried<T>(work: (tx: Tx) => Promise<T>, retry: Retry): Promise<T> {
    for (let tries = 0; tries < TRIES_BESIDE && !alone.isBusy(); tries++) {
      try {
        return await side(() => once(work, retry))
      } catch (error) {
        if (!retry.isWorthwhile(error)) throw error
      }
    }
    return alone.take(() => untilAlone(work, retry))
  }

  async function untilAlone<T>(work: (tx: Tx) => Promise<T>, retry: Retry): Promise<T> {
    while (true) {
      try {
        return await once(work, retry)
      } catch (error) {
        if (!retry.isWorthwhile(error)) throw error
      }
    }
  }

  /** The lock is another transaction's: taken inside of the change, it would come after the change's view of the data. */
  async function locked<T>(work: () => Promise<T>): Promise<T> {
    const connection = await pool.reserve()
    let isBroken = true
    try {
      await connection.run(`BEGIN; SET LOCAL lock_timeout = '${PATIENCE}ms'`, [])
      await connection.run(`SELECT pg_advisory_xact_lock(${LOCK})`, [], PATIENCE + 1000)
      try {
        return await work()
      } finally {
        await connection.run('COMMIT', []).then(
          () => {
            isBroken = false
          },
          () => {},
        )
      }
    } finally {
      connection.release(isBroken)
    }
  }

  async function once<T>(work: (tx: Tx) => Promise<T>, retry: Retry): Promise<T> {
    if (retry.isOver()) throw tooLate()
    const connection = await pool.reserve()
    const pending = new Set<Promise<unknown>>()
    const change: Change = { connection, effects: [], retry, failure: null, pending, isOver: false }
    let isBroken = false
    try {
      await connection.run(BEGIN, [])
      const value = await inside.run(change, async () => await work(tx))
      await Promise.allSettled(pending)
      change.isOver = true
      if (change.failure) throw change.failure.error
      if (retry.isOver()) throw tooLate()
      await commit(connection)
      commits++
      for (const effect of change.effects) effect()
      return value
    } catch (error) {
      change.isOver = true
      isBroken = await undo(connection, error)
      throw error
    } finally {
      connection.release(isBroken)
    }
  }

  async function attempt(work: () => Promise<void>): Promise<unknown> {
    const change = current()
    const before = change.effects.length
    await run('SAVEPOINT attempt', [])
    try {
      await work()
      await run('RELEASE SAVEPOINT attempt', [])
      return null
    } catch (thrown) {
      const error = change.failure?.error ?? thrown
      // What is the whole change's: the server's failures, and meeting another change.
      if (isConnectionLost(error) || isConflict(error) || change.retry.blames(error)) throw error
      await change.connection.run('ROLLBACK TO SAVEPOINT attempt', [])
      change.failure = null
      change.effects.length = before
      return error ?? new Error('an attempt threw nothing')
    }
  }

  function current(): Change {
    const change = inside.getStore()
    if (!change || change.isOver) throw changeIsOver()
    return change
  }
}

/** What is committed later than that would undo what was asked after it. */
function tooLate() {
  return unavailable(new Error(`a change took more than ${PATIENCE} ms`))
}

async function inTime<T>(outcome: Promise<T>): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(tooLate()), ANSWER)
  try {
    return await Promise.race([outcome, late])
  } finally {
    clearTimeout(timer)
  }
}

type Retry = ReturnType<typeof createRetry>

/** Decides whether a change that failed is made again. */
function createRetry() {
  const deadline = performance.now() + PATIENCE
  let constraints = 0
  return {
    isOver,
    isWorthwhile(error: unknown): boolean {
      if (isOver()) return false
      if (isConflict(error) || isConnectionLost(error)) return true
      if (!blames(error)) return false
      constraints++
      return true
    },
    blames,
  }

  function isOver(): boolean {
    return performance.now() > deadline
  }

  /** Whether a constraint may be broken by what somebody else does. */
  function blames(error: unknown): boolean {
    return /^2350[35]$/.test(sqlState(error) ?? '') && constraints < CONSTRAINT_RETRIES
  }
}

/** Whether another change was met. */
function isConflict(error: unknown): boolean {
  return /^(40001|40P01|55P03)$/.test(sqlState(error) ?? '')
}

/** Throws 503 where it is not known whether it is done: whoever asks again finds out, by what tells askers apart. */
async function commit(connection: Connection) {
  try {
    await connection.run('COMMIT', [])
  } catch (error) {
    throw isConnectionLost(error) ? unavailable(error) : error
  }
}

/** Ends a failed transaction; returns whether the connection cannot be used any more. */
async function undo(connection: Connection, error: unknown): Promise<boolean> {
  if (isConnectionLost(error)) return true
  return connection.run('ROLLBACK', []).then(
    () => false,
    () => true,
  )
}
