import { setTimeout as wait } from 'node:timers/promises'
import { withTimeout } from '../../lib/concurrency/with-timeout.ts'
import type { Log } from '../../lib/log/log.ts'
import { MINUTE_MS } from '../../lib/time/durations.ts'
import { type Clocks, createDueJobs } from './due-jobs.ts'

const SYSTEM_CLOCKS = { wall: Date.now, steady: () => performance.now() }

/** A larger clock skew is logged as a warning. */
export const SKEW_WARNING_MS = 5_000
const STOP_TIMEOUT_MS = 10_000
/** With a larger skew, nothing is deleted by age: instances with the right time do that. */
const MAX_SKEW_MS = MINUTE_MS

const CLOCK_IN_DOUBT =
  'the clock is more than a day ahead of the last recorded time: nothing is deleted by age for an hour'

export type Job = {
  name: string
  /** Cron expressions in UTC. */
  schedule: string[]
  run: (signal: AbortSignal) => Promise<void>
  /** Whether to run at startup, for example after a run was missed while the server was down. */
  isDueAtStart?: () => Promise<boolean>
  /** Whether it runs on every instance; otherwise one instance runs it for all. */
  runsOnEveryInstance?: boolean
  /** Whether it deletes by age: then it waits while the clock is in doubt. */
  deletesByAge?: boolean
  /** Whether it also runs after the clock is set back, to repair times that were written while it was ahead. */
  runsAfterSetBack?: boolean
  /** Each run waits a random time of up to this many ms, so that servers do not all query a provider at once. */
  jitter?: number
}

/** The last run of a job since this process started. */
export type JobRun = { at: Date; ms: number; error: string | null }

type JobsDeps = {
  log: Log
  claim: (name: string, slot: Date) => Promise<boolean>
  runs: Map<string, JobRun | null>
  /** The newest time recorded before this process started; null if there is none. */
  readLastKnown: () => Promise<Date | null>
  /** Whether a later time than now was recorded, by a clock that was ahead. */
  wasClockAhead?: () => Promise<boolean>
  /** How far `wall` is ahead of the clock that all instances share, in ms; null if there is none. */
  readSkew: (wall: () => number) => Promise<number | null>
  /** Set only by tests. */
  clocks?: Omit<Clocks, 'lastKnown' | 'wasAhead'>
}

/**
 * The returned function aborts runs and waits for them, but not forever: a disk may not respond. Errors are logged;
 * runs of one job never overlap.
 */
export function startJobs(
  jobs: Job[],
  { log, claim, runs, readLastKnown, wasClockAhead, readSkew, clocks = SYSTEM_CLOCKS }: JobsDeps,
): () => Promise<void> {
  const stopping = new AbortController()
  const running = new Map<string, Promise<void>>()
  let isSkewed = false
  /** How far this clock was ahead of the shared one at the last reading, in ms. */
  let lastSkew = 0
  const firstSkew = isClockInSync()
  void watchTime()
  for (const job of jobs) {
    runs.set(job.name, null)
    void catchUp(job)
  }

  return async () => {
    stopping.abort()
    const late = () => new Error(`still running: ${[...running.keys()].join(', ')}`)
    await withTimeout(Promise.all(running.values()), STOP_TIMEOUT_MS, late).catch((err) =>
      log.warn({ err }, 'a job did not stop in time'),
    )
  }

  /** Reads the clock every minute: a timeout until tomorrow would not notice a clock that jumps ahead. */
  async function watchTime() {
    const lastKnown = await readLastKnownTime()
    const wasAhead = (await wasClockAhead?.().catch(() => false)) ?? false
    const dueJobs = createDueJobs(jobs, { ...clocks, lastKnown, wasAhead })
    if (dueJobs.isClockInDoubt()) log.warn({ lastKnown: new Date(lastKnown ?? 0) }, CLOCK_IN_DOUBT)
    while (!stopping.signal.aborted) {
      await pause(MINUTE_MS - (clocks.wall() % MINUTE_MS), stopping.signal)
      const { due, jump, wall } = dueJobs.take()
      if (jump !== 0) log.warn({ seconds: Math.round(jump / 1000) }, 'the clock jumped')
      const mayDelete = await isClockInSync()
      // Instances whose clocks are about right all use the scheduled minute, by their own clocks.
      const slot = wall - (Math.abs(lastSkew) < MAX_SKEW_MS ? 0 : lastSkew)
      for (const job of due) {
        if (mayDelete || !job.deletesByAge) void start(job, slot, job.jitter)
      }
    }
  }

  /** An unreadable clock counts as out of sync: the database is then unavailable too. */
  async function isClockInSync(): Promise<boolean> {
    const skew = await readSkew(clocks.wall).catch(() => Number.POSITIVE_INFINITY)
    lastSkew = skew !== null && Number.isFinite(skew) ? skew : lastSkew
    if (skew === null) return true
    logSkew(skew)
    return Math.abs(skew) < MAX_SKEW_MS
  }

  function logSkew(skew: number) {
    const differs = Math.abs(skew) > SKEW_WARNING_MS
    if (!Number.isFinite(skew) || differs === isSkewed) return
    isSkewed = differs
    const seconds = Math.round(skew / 1000)
    if (differs) log.warn({ seconds }, "the clock differs from the database server's")
    else log.info("the clock agrees with the database server's again")
  }

  /** A time that cannot be read is treated as long past, so that the clock is in doubt. */
  async function readLastKnownTime(): Promise<number | null> {
    try {
      return (await readLastKnown())?.getTime() ?? null
    } catch (err) {
      log.warn({ err }, 'the last recorded time cannot be read')
      return 0
    }
  }

  async function catchUp(job: Job) {
    try {
      await firstSkew
      if (await job.isDueAtStart?.()) await start(job, Date.now() - lastSkew)
    } catch (err) {
      log.error({ job: job.name, err }, 'a missed job could not be run')
    }
  }

  /** `slot` is a time of the shared clock: a claim by a fast clock would keep other instances from running the job. */
  function start(job: Job, slot: number, jitter = 0): Promise<void> {
    const current = running.get(job.name)
    if (current || stopping.signal.aborted) return current ?? Promise.resolve()
    const run = runOnce(job, toMinute(slot), jitter).finally(() => running.delete(job.name))
    running.set(job.name, run)
    return run
  }

  async function runOnce({ name, run, runsOnEveryInstance }: Job, slot: Date, jitter: number) {
    const at = new Date()
    const recordRun = (error: string | null) =>
      runs.set(name, { at, ms: Date.now() - at.getTime(), error })
    try {
      if (!runsOnEveryInstance && !(await claim(name, slot))) return
      await pause(Math.random() * jitter, stopping.signal)
      if (!stopping.signal.aborted) await run(stopping.signal)
      recordRun(null)
    } catch (err) {
      if (stopping.signal.aborted) return
      log.error({ job: name, err }, 'a job failed')
      recordRun(err instanceof Error ? err.message : 'unknown')
    }
  }
}

function toMinute(time: number): Date {
  return new Date(Math.floor(time / MINUTE_MS) * MINUTE_MS)
}

/** Resolves after `ms`, or when `signal` aborts. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0) return Promise.resolve()
  return wait(ms, undefined, { signal }).catch(() => undefined)
}
