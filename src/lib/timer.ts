import type { Log } from './log.ts'

export type Timer = {
  name: string
  /** Cron expressions in UTC. */
  schedule: string[]
  run: (signal: AbortSignal) => Promise<void>
  /** Whether to run at the start, such as when a run was missed while the program was down. */
  isDueAtStart?: () => Promise<boolean>
  /** Every instance has its own to do; else one of them runs for all. */
  isEverywhere?: boolean
  /** Each run waits up to this many ms at random, so that not all servers ask at once. */
  jitter?: number
}

/** How a timer ran last, since the start of this process; `error` is null where it ended well. */
export type TimerRun = { at: Date; ms: number; error: string | null }

/**
 * Runs timers until the returned function is called, which aborts what runs and waits for it.
 * A run that throws is logged and hurts nothing; runs of one timer never overlap. `claim` says whether this instance is
 * the one that runs what is due at a minute; `runs` learns how each timer ran last.
 */
export function startTimers(
  timers: Timer[],
  log: Log,
  claim: (name: string, slot: Date) => Promise<boolean> = async () => true,
  runs: Map<string, TimerRun | null> = new Map(),
): () => Promise<void> {
  const stopping = new AbortController()
  const running = new Map<string, Promise<void>>()
  const jobs = timers.flatMap((timer) =>
    timer.schedule.map((schedule) =>
      Bun.cron(schedule, () => start(timer, timer.jitter ?? 0), { tz: 'UTC' }),
    ),
  )
  for (const timer of timers) {
    runs.set(timer.name, null)
    void catchUp(timer)
  }

  return async () => {
    stopping.abort()
    for (const job of jobs) job.stop()
    await Promise.all(running.values())
  }

  async function catchUp(timer: Timer) {
    try {
      if (await timer.isDueAtStart?.()) await start(timer, 0)
    } catch (err) {
      log.error({ timer: timer.name, err }, 'a timer could not be caught up')
    }
  }

  function start(timer: Timer, jitter: number): Promise<void> {
    const already = running.get(timer.name)
    if (already || stopping.signal.aborted) return already ?? Promise.resolve()
    const run = runOnce(timer, jitter).finally(() => running.delete(timer.name))
    running.set(timer.name, run)
    return run
  }

  async function runOnce({ name, run, isEverywhere }: Timer, jitter: number) {
    const at = new Date()
    const note = (error: string | null) =>
      runs.set(name, { at, ms: Date.now() - at.getTime(), error })
    try {
      if (!isEverywhere && !(await claim(name, minuteOf(at)))) return
      await pause(Math.random() * jitter, stopping.signal)
      if (!stopping.signal.aborted) await run(stopping.signal)
      note(null)
    } catch (err) {
      if (stopping.signal.aborted) return
      log.error({ timer: name, err }, 'a timer failed')
      note(err instanceof Error ? err.message : 'unknown')
    }
  }
}

function minuteOf(time: Date): Date {
  return new Date(Math.floor(time.getTime() / 60_000) * 60_000)
}

/** Waits `ms` or until `signal` aborts, whichever comes first. */
export function pause(ms: number, signal: AbortSignal): Promise<void> {
  if (ms <= 0 || signal.aborted) return Promise.resolve()
  const { promise, resolve } = Promise.withResolvers<void>()
  const timeout = setTimeout(resolve, ms)
  signal.addEventListener('abort', () => resolve(), { once: true })
  return promise.finally(() => clearTimeout(timeout))
}
