import { AsyncLocalStorage } from 'node:async_hooks'
import { createTaskQueue } from '../../../lib/concurrency/slots.ts'
import { withTimeout } from '../../../lib/concurrency/with-timeout.ts'
import { addFinalWork, changeEndedError, type FinalWork, runToEnd } from '../change-end.ts'
import { createBuilders, type Db, type Prepared, type Tx, type WriteStats } from '../db.ts'
import { unavailable } from '../storage-error.ts'
import { asAppError, isConflict, isConnectionLost, LOCK_NOT_AVAILABLE, sqlState } from './errors.ts'
import { createExclusiveQueue } from './exclusive-queue.ts'
import { type Connection, commit, type Pool, undo } from './pool.ts'
import { createQueries } from './queries.ts'

/** A change under way. Once a statement has failed, the server refuses the rest: `failure` is the change's outcome. */
type Change = {
  connection: Connection
  effects: (() => void)[]
  finalWork: FinalWork
  retry: Retry
  failure: { error: unknown } | null
  pending: Set<Promise<unknown>>
  isOver: boolean
}

type Outcome<T> = { value: T } | 'conflict' | 'locked'

type WriterDeps = {
  pool: Pool
  /** How many changes run concurrently: two fewer than connections, for an exclusive change and its lock. */
  limit: number
}

/** How many times a change is tried concurrently before it runs exclusively. */
const CONCURRENT_TRIES = 2
/** Above this share of conflicting tries, changes join those that run exclusively. */
const HIGH_CONTENTION = 0.2
/** How many times a change is retried for a duplicate key or a missing parent caused by a concurrent change. */
const CONSTRAINT_RETRIES = 4
/** How long a change may wait and be retried in total; after that it is not committed. */
const RETRY_TIMEOUT_MS = 7_000
/** A later commit could overwrite what the caller has changed since. */
const TOO_LATE = `a change took more than ${RETRY_TIMEOUT_MS} ms`
/** The caller gets a result within this time, even if the last COMMIT still waits for the server. */
const ANSWER_TIMEOUT_MS = 10_500
const QUEUE_LIMIT = 10_000
/** The key of the advisory lock under which changes run exclusively. */
const LOCK_KEY = 0x686f6d65
/** How long a change waits for a locked row before it makes way for others, in ms. */
const LOCK_TIMEOUT_MS = 100
/** How long a change pauses before another try when a row that it needs stays locked, in ms. */
const LOCKED_PAUSE_MS = 50
/** In ms. A frozen instance's locks would stop all others, so the server then rolls its open change back. */
const IDLE_TIMEOUT_MS = RETRY_TIMEOUT_MS + 1_000
const SETTINGS = {
  lock_timeout: String(LOCK_TIMEOUT_MS),
  idle_in_transaction_session_timeout: String(IDLE_TIMEOUT_MS),
}
const BEGIN_LOCK = `BEGIN; SET LOCAL lock_timeout = ${RETRY_TIMEOUT_MS}; SET LOCAL idle_in_transaction_session_timeout = ${IDLE_TIMEOUT_MS}`

/**
 * Runs changes as SERIALIZABLE transactions, which need no locks. They may be retried, so effects go into `afterCommit`.
 */
export function createWriter({ pool, limit }: WriterDeps) {
  const inside = new AsyncLocalStorage<Change>()
  const queries = createQueries(run)
  const queue = {
    queueLimit: QUEUE_LIMIT,
    maxWait: RETRY_TIMEOUT_MS,
    onFull: () => unavailable(new Error('too many changes are waiting')),
  }
  const contention = createContention()
  const concurrent = createTaskQueue({ limit, ...queue })
  const oneAtATime = createTaskQueue({ limit: 1, ...queue })
  const exclusive = createExclusiveQueue(withLock)
  const tx: Tx = {
    ...createBuilders(queries),
    attempt,
    beforeCommit: (key, work) => void addFinalWork(current().finalWork, key, work),
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
    const outcome = withTimeout(commitWithRetries(work), ANSWER_TIMEOUT_MS, () =>
      unavailable(new Error(TOO_LATE)),
    )
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
    return (caller) => {
      if (caller !== tx || !inside.getStore())
        throw new Error('a prepared change runs only inside write()')
      query ??= build(tx).prepare()
      return query
    }
  }

  async function run(query: string, params: unknown[]) {
    const change = current()
    if (change.failure) throw change.failure.error
    return track(change, change.connection.run(query, params))
  }

  async function track<T>(change: Change, answer: Promise<T>): Promise<T> {
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

  /** Refuses further changes with 503 and waits for those under way. */
  async function stop(reason: unknown) {
    refusal = reason
    await Promise.allSettled(underWay)
  }

  async function commitWithRetries<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const retry = createRetry()
    try {
      for (let conflicts = 0, isLocked = false; ; ) {
        const tryConcurrently = () => concurrent(() => tryOnce(work, retry))
        // While most changes conflict, concurrent ones would only make those that run exclusively conflict again.
        const joinsQueue = exclusive.isBusy() && contention.isHigh()
        const isConcurrent = conflicts < CONCURRENT_TRIES && !joinsQueue
        let outcome: Outcome<T>
        // Changes that need locked rows must not occupy all connections, nor stop the others.
        if (isLocked) outcome = await oneAtATime(tryConcurrently)
        else if (isConcurrent) outcome = await tryConcurrently()
        else outcome = await exclusive.run(() => retryExclusively(work, retry))
        contention.count(outcome === 'conflict', isConcurrent ? 0.05 : 0.01)
        if (typeof outcome === 'object') return outcome.value
        isLocked = outcome === 'locked'
        if (isLocked) await Bun.sleep(LOCKED_PAUSE_MS)
        else conflicts++
      }
    } catch (error) {
      // There was no time left to find out whether a concurrent change caused the error.
      throw retry.isOver() && retry.isRetryableConstraint(error) ? unavailable(error) : error
    }
  }

  async function retryExclusively<T>(work: (tx: Tx) => Promise<T>, retry: Retry) {
    for (;;) {
      const outcome = await tryOnce(work, retry)
      if (outcome !== 'conflict') return outcome
    }
  }

  /** The committed value, or why another try is worthwhile. */
  async function tryOnce<T>(work: (tx: Tx) => Promise<T>, retry: Retry): Promise<Outcome<T>> {
    try {
      return { value: await runAndCommit(work, retry) }
    } catch (error) {
      if (!retry.isWorthwhile(error)) throw error
      return sqlState(error) === LOCK_NOT_AVAILABLE ? 'locked' : 'conflict'
    }
  }

  /** In a separate transaction: the change could take the lock only after its own snapshot. */
  async function withLock<T>(work: () => Promise<T>): Promise<T> {
    const connection = await pool.reserve()
    let isBroken = true
    try {
      await connection.run(BEGIN_LOCK, [])
      await connection.run(`SELECT pg_advisory_xact_lock(${LOCK_KEY})`, [], RETRY_TIMEOUT_MS + 1000)
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

  async function runAndCommit<T>(work: (tx: Tx) => Promise<T>, retry: Retry): Promise<T> {
    if (retry.isOver()) throw unavailable(new Error(TOO_LATE))
    const connection = await pool.reserve()
    const finalWork: FinalWork = new Map()
    const state = { effects: [], finalWork, pending: new Set<Promise<unknown>>(), isOver: false }
    const change: Change = { connection, retry, failure: null, ...state }
    let isBroken = false
    try {
      track(change, connection.begin(SETTINGS)).catch(() => {})
      const value = await inside.run(change, () => runToEnd(tx, work, finalWork))
      await Promise.allSettled(change.pending)
      change.isOver = true
      if (change.failure) throw change.failure.error
      if (retry.isOver()) throw unavailable(new Error(TOO_LATE))
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
      // A lost connection or a conflict fails the whole change.
      if (isConnectionLost(error) || isConflict(error)) throw error
      if (change.retry.isRetryableConstraint(error)) throw error
      await change.connection.run('ROLLBACK TO SAVEPOINT attempt', [])
      change.failure = null
      change.effects.length = before
      return error ?? new Error('an attempt threw undefined')
    }
  }

  function current(): Change {
    const change = inside.getStore()
    if (!change || change.isOver) throw changeEndedError()
    return change
  }
}

/** The share of recent tries that conflicted; each counts by its weight. */
function createContention() {
  let share = 0
  const count = (isConflict: boolean, weight: number) => {
    share += weight * (Number(isConflict) - share)
  }
  return { count, isHigh: () => share > HIGH_CONTENTION }
}

type Retry = ReturnType<typeof createRetry>

function createRetry() {
  const deadline = performance.now() + RETRY_TIMEOUT_MS
  let constraints = 0
  const isOver = () => performance.now() > deadline
  return { isOver, isWorthwhile, isRetryableConstraint }

  function isWorthwhile(error: unknown): boolean {
    if (isOver()) return false
    if (isConflict(error) || isConnectionLost(error)) return true
    if (!isRetryableConstraint(error)) return false
    constraints++
    return true
  }

  /** Whether a concurrent change may have caused a duplicate key or a missing parent. */
  function isRetryableConstraint(error: unknown): boolean {
    return /^2350[35]$/.test(sqlState(error) ?? '') && constraints < CONSTRAINT_RETRIES
  }
}
