import type { Database } from 'bun:sqlite'
import { AsyncLocalStorage } from 'node:async_hooks'
import { yieldToEventLoop } from '../../../lib/concurrency/yield-to-event-loop.ts'
import { addFinalWork, changeEndedError, type FinalWork, runToEnd } from '../change-end.ts'
import { createBuilders, type Db, type Prepared, type Tx, type WriteStats } from '../db.ts'
import { asStorageError, unavailable } from '../storage-error.ts'
import { compilingDrizzle } from './compiling-drizzle.ts'
import { sqliteCode } from './storage-error.ts'

type Job = {
  work: (tx: Tx) => Promise<unknown>
  resolve: (value: unknown) => void
  reject: (error: unknown) => void
}
type Outcome = { job: Job; value?: unknown; error?: unknown; effects: Effects }
type Effects = (() => void)[]

/** How many changes one commit may contain, and how long they may block the event loop. */
const MAX_BATCH = 256
const MAX_BATCH_MS = 8
/** How long to wait for another process's lock, and the delays between tries: a checkpoint is short. */
const LOCK_TIMEOUT_MS = 2_000
const LOCK_RETRY_DELAYS_MS = [1, 1, 1, 2, 2, 5, 5, 10, 20]

/** Commits queued changes as one transaction (one fsync) with a savepoint each, and acknowledges them afterwards. */
export function createWriter(
  client: Database,
  onCommit: () => void = () => {},
  onDiskFailure: () => void = () => {},
  describeMisplaced: () => string | null = () => null,
) {
  const queue: Job[] = []
  const savepoint = client.query('SAVEPOINT job')
  const release = client.query('RELEASE job')
  const beginAttempt = client.query('SAVEPOINT attempt')
  const endAttempt = client.query('RELEASE attempt')
  const beginStatement = client.query('BEGIN IMMEDIATE')
  const commitStatement = client.query('COMMIT')
  const inside = new AsyncLocalStorage<Tx>()
  const builders = createBuilders(compilingDrizzle(client, { beforeAny: requireCurrent }))
  let current: Tx | null = null
  let draining: Promise<void> | null = null
  let refusal: unknown = null
  let commits = 0
  let changes = 0

  return { write: write as Db<never>['write'], prepareWrite, stats, stop }

  function write<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    if (current && inside.getStore() === current) {
      throw new Error('write inside a write would wait for itself: pass tx on instead')
    }
    if (refusal) return Promise.reject(unavailable(refusal))
    const { promise, resolve, reject } = Promise.withResolvers<T>()
    queue.push({ work, resolve: resolve as Job['resolve'], reject })
    draining ??= drain().finally(() => {
      draining = null
    })
    return promise
  }

  function stats(): WriteStats {
    return { waiting: queue.length, commits, changes }
  }

  function prepareWrite<Q>(build: (tx: Tx) => { prepare(): Q }): Prepared<Q> {
    let query: Q | null = null
    return (tx) => {
      if (tx !== current) throw new Error('a prepared change runs only inside write()')
      // Prepared on first use: most are not needed at startup.
      query ??= build(createTx([], new Map())).prepare()
      return query
    }
  }

  function createTx(effects: Effects, finalWork: FinalWork): Tx {
    return {
      ...builders,
      attempt: (work) => attempt(work, effects),
      beforeCommit(key, work) {
        requireCurrent()
        addFinalWork(finalWork, key, work)
      },
      afterCommit(effect) {
        requireCurrent()
        effects.push(effect)
      },
    } as Tx
  }

  /** Changes share one connection: a statement of another change would be committed or rolled back with this one. */
  function requireCurrent() {
    if (!current || inside.getStore() !== current) throw changeEndedError()
  }

  async function attempt(work: () => Promise<void>, effects: Effects): Promise<unknown> {
    requireCurrent()
    const before = effects.length
    beginAttempt.run()
    try {
      await work()
      endAttempt.run()
      return null
    } catch (error) {
      // A storage error fails the whole change.
      if (!client.inTransaction || asStorageError(error)) throw error
      client.run('ROLLBACK TO attempt')
      client.run('RELEASE attempt')
      effects.length = before
      return error ?? new Error('an attempt threw undefined')
    }
  }

  /** Refuses further changes with 503 and waits for those under way. */
  async function stop(reason: unknown) {
    refusal = reason
    await draining
  }

  async function drain() {
    // Requests that arrive together are read in one turn of the event loop, and committed together after it.
    await yieldToEventLoop()
    while (queue.length > 0) {
      const batch = queue.splice(0, MAX_BATCH)
      try {
        const outcomes = await commit(batch)
        for (const { job, value, error, effects } of outcomes) {
          if (error === undefined) job.resolve(value)
          else job.reject(error)
          for (const effect of effects) effect()
        }
        queue.unshift(...batch.slice(outcomes.length))
      } catch (error) {
        const failure = asStorageError(error) ?? error
        if (sqliteCode(error) === 'SQLITE_IOERR_FSYNC') {
          // The system has dropped the data: a second fsync may succeed without having written it.
          refusal = error
          onDiskFailure()
        }
        for (const job of batch) job.reject(failure)
      }
      await yieldToEventLoop()
    }
  }

  /** Commits the changes of `batch` that succeed in time. Throws when none could be committed. */
  async function commit(batch: Job[]): Promise<Outcome[]> {
    requireInPlace()
    await begin()
    const outcomes: Outcome[] = []
    try {
      const deadline = performance.now() + MAX_BATCH_MS
      for (const job of batch) {
        outcomes.push(await runJob(job))
        if (performance.now() > deadline) break
      }
      commitStatement.run()
      commits++
      changes += outcomes.length
      onCommit()
      // Do not acknowledge a change in a file that has been removed in the meantime.
      requireInPlace()
      return outcomes
    } catch (error) {
      if (client.inTransaction) client.run('ROLLBACK')
      throw error
    }
  }

  function requireInPlace() {
    const reason = describeMisplaced()
    if (reason !== null) throw unavailable(new Error(reason))
  }

  async function runJob(job: Job): Promise<Outcome> {
    savepoint.run()
    const effects: Effects = []
    const finalWork: FinalWork = new Map()
    try {
      const tx = createTx(effects, finalWork)
      current = tx
      const value = await inside.run(tx, () => runToEnd(tx, job.work, finalWork))
      release.run()
      return { job, value, effects }
    } catch (error) {
      // After a full disk or an I/O error, SQLite rolls back the whole transaction itself.
      if (!client.inTransaction) throw error
      client.run('ROLLBACK TO job')
      release.run()
      const failure = asStorageError(error) ?? error ?? new Error('a change threw undefined')
      return { job, error: failure, effects: [] }
    } finally {
      current = null
    }
  }

  /** Waits without blocking the event loop, as SQLite's own wait would. */
  async function begin() {
    const deadline = Date.now() + LOCK_TIMEOUT_MS
    for (let tries = 0; ; tries++) {
      try {
        beginStatement.run()
        return
      } catch (error) {
        if (sqliteCode(error) !== 'SQLITE_BUSY' || Date.now() > deadline) throw error
        await Bun.sleep(LOCK_RETRY_DELAYS_MS[tries] ?? 20)
      }
    }
  }
}
