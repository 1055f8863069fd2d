import { oneAtATime } from '../../../lib/concurrency/one-at-a-time.ts'
import type { Log } from '../../../lib/log/log.ts'
import { MINUTE_MS } from '../../../lib/time/durations.ts'
import { type Attempt, type AttemptResult, type Claimed, OUTCOMES, TIMEOUT_MS } from './attempt.ts'
import { createPaces } from './pace.ts'
import type { Queue } from './queue.ts'

/** The duration is null without a reply. */
export type AttemptFigures = { value: number | null; failure: 'soft' | 'hard' | null }

type DispatcherDeps = {
  queue: Queue
  attempt: Attempt
  /** Counts an attempt for the metrics; `soft` failures are retried. */
  observeAttempt: (endpointId: string, figures: AttemptFigures) => void
  now: () => Date
  log: Log
  timeoutMs?: number | undefined
}

const FLUSH_DELAY_MS = 2
const STOP_TIMEOUT_MS = 3_000
/** Retries later than this are left to the job that runs every minute. */
const MAX_TIMER_MS = MINUTE_MS

/** Attempts the due deliveries: soon after the commit that adds them, and again when a retry is due. */
export function createDeliverer(deps: DispatcherDeps) {
  const { queue, attempt, observeAttempt, now, log } = deps
  const paces = createPaces(deps.timeoutMs ?? TIMEOUT_MS)
  const pauses = new Set<Promise<unknown>>()
  const running = new Set<Promise<unknown>>()
  const timers = new Map<number, NodeJS.Timeout>()
  const stopping = new AbortController()
  const counts: Record<string, number> = Object.fromEntries(OUTCOMES.map((name) => [name, 0]))
  const claimDue = oneAtATime(claimAndStart)
  /** Endpoints with new deliveries or free slots, and whether all endpoints are to be checked. */
  const endpointsToCheck = new Set<string>()
  let mustCheckAll = false
  let isFlushScheduled = false
  let isStopped = false
  return { wake: startDue, flush, flushSoon, deliver, stop, counts }

  /** Attempts everything that is due, and waits for it. */
  async function flush() {
    await startDue()
    while (running.size + pauses.size > 0) {
      await Promise.all([...running, ...pauses])
      await startDue()
    }
  }

  /** Starts new deliveries to `endpointIds` once the reply of the request that caused the event is sent. */
  function flushSoon(endpointIds: string[]) {
    for (const id of endpointIds) endpointsToCheck.add(id)
    if (isFlushScheduled || isStopped) return
    isFlushScheduled = true
    setTimeout(() => {
      isFlushScheduled = false
      inBackground(claimDue())
    }, FLUSH_DELAY_MS)
  }

  /** Stops claiming, and waits briefly for the attempts under way. Aborted ones are attempted again. */
  async function stop() {
    isStopped = true
    for (const timer of timers.values()) clearTimeout(timer)
    await startDue().catch(() => {})
    await Promise.race([Promise.all(running), Bun.sleep(STOP_TIMEOUT_MS)])
    stopping.abort()
    await Promise.all(running)
  }

  async function claimAndStart() {
    if (isStopped) return
    const [all, some] = [mustCheckAll, new Set(endpointsToCheck)]
    mustCheckAll = false
    endpointsToCheck.clear()
    try {
      const claimed = await queue.claim((endpointId) =>
        all || some.has(endpointId) ? paces.freeSlots(endpointId) : 0,
      )
      for (const one of claimed) void deliver(one)
    } catch (error) {
      mustCheckAll = true
      throw error
    }
  }

  /** Starts the attempts that are due, and does not wait for them. */
  function startDue(): Promise<void> {
    mustCheckAll = true
    return claimDue()
  }

  function inBackground(claiming: Promise<void>) {
    claiming.catch((err) => {
      if (!isStopped) log.error({ err }, 'the webhook queue cannot be read')
    })
  }

  /** Attempts a claimed delivery. Returns null if the result could not be recorded; its lease then ends. */
  function deliver(claimed: Claimed): Promise<AttemptResult | null> {
    const { id } = claimed.endpoint
    const endPaced = paces.start(id)
    const run = attemptAndRecord(claimed)
      .catch((err) => {
        log.error({ delivery: claimed.id, err }, 'a webhook attempt could not be recorded')
        return null
      })
      .then((result) => {
        running.delete(run)
        const pauseMs = endPaced(result)
        if (pauseMs > 0) checkAfter(id, pauseMs)
        else check(id)
        return result
      })
    running.add(run)
    return run
  }

  function checkAfter(id: string, pauseMs: number) {
    const pause = Bun.sleep(Math.ceil(pauseMs)).then(() => {
      pauses.delete(pause)
      check(id)
    })
    pauses.add(pause)
  }

  /** Starts what is due for an endpoint. */
  function check(id: string) {
    endpointsToCheck.add(id)
    inBackground(claimDue())
  }

  async function attemptAndRecord(claimed: Claimed): Promise<AttemptResult> {
    const result = await attempt(claimed, stopping.signal)
    const { outcome, status, duration } = result
    if (stopping.signal.aborted && outcome !== 'delivered') {
      await queue.release(claimed)
      return result
    }
    counts[outcome] = (counts[outcome] ?? 0) + 1
    const dueAt = await queue.finish(claimed, result)
    const failure = outcome === 'delivered' ? null : dueAt === null ? 'hard' : 'soft'
    const hasReply = status !== null || outcome === 'timeout'
    observeAttempt(claimed.endpoint.id, { value: hasReply ? duration : null, failure })
    if (dueAt !== null) {
      const { endpoint, id: delivery } = claimed
      log.info(
        { endpoint: endpoint.id, delivery, outcome, status, ms: duration },
        'a webhook attempt failed',
      )
      wakeAt(dueAt)
    }
    return result
  }

  /** One timer per second, however many deliveries wait for it. */
  function wakeAt(dueAt: Date) {
    const delay = dueAt.getTime() - now().getTime()
    const second = Math.ceil(dueAt.getTime() / 1000)
    if (delay > MAX_TIMER_MS || timers.has(second) || isStopped) return
    const wake = () => {
      timers.delete(second)
      inBackground(startDue())
    }
    timers.set(second, setTimeout(wake, second * 1000 - now().getTime()))
  }
}
