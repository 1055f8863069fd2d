import { MINUTE_MS } from '../../../../../lib/durations.ts'
import type { Log } from '../../../../../lib/log.ts'
import { oneAtATime } from '../../../../../lib/one-at-a-time.ts'
import { PlayApiError } from '../api/api-error.ts'
import type { AskGoogle } from './asking.ts'
import type { KnownPurchase, PlayPurchases } from './purchases.ts'

type PlayQueueDeps = {
  purchases: PlayPurchases
  ask: AskGoogle
  /** At most this many purchases a second; Google allows 3,000 requests a minute. */
  asksPerSecond?: number | undefined
  now: () => Date
  log: Log
}

export type PlayQueue = ReturnType<typeof createPlayQueue>

const ASKS_PER_SECOND = 20
const REFUSED_PAUSE_MS = 10 * MINUTE_MS
const NOT_ACKNOWLEDGED = 'Google does not let the service account acknowledge a purchase'
const MAX_PAUSE_MS = 10 * MINUTE_MS

/** Asks Google about all due purchases. Several instances may work at once: each purchase is leased. */
export function createPlayQueue(deps: PlayQueueDeps) {
  const { purchases, ask, now, log, asksPerSecond = ASKS_PER_SECOND } = deps
  const stopping = new AbortController()
  let paused = { until: 0, ms: 0 }
  let failures = 0
  const drain = oneAtATime(work)
  return { drain, drainInBackground, stop }

  function drainInBackground() {
    drain().catch((err) => {
      if (!stopping.signal.aborted)
        log.error({ err }, 'the queue of Google purchases could not be processed')
    })
  }

  /** Aborts the requests under way. The queue is stored, and continues at the next start. */
  async function stop() {
    stopping.abort()
    await drain().catch(() => {})
  }

  async function work() {
    while (!stopping.signal.aborted && !isPaused()) {
      const startedAt = performance.now()
      const batch = await purchases.lease(asksPerSecond)
      if (batch.length === 0) return
      await Promise.all(batch.map(askAbout))
      if (batch.length === asksPerSecond) {
        await Bun.sleep(Math.max(0, 1_000 - (performance.now() - startedAt)))
      }
    }
  }

  async function askAbout(purchase: KnownPurchase) {
    try {
      const { fault } = await ask(purchase, stopping.signal)
      if (fault === null) failures = 0
      // The service account may lack only the permission to acknowledge.
      else if (fault.reason === 'refused_key') log.warn({ err: fault }, NOT_ACKNOWLEDGED)
      else pauseAfter(fault)
    } catch (error) {
      if (stopping.signal.aborted) return
      if (error instanceof PlayApiError) pauseAfter(error)
      // The lease delays the next attempt.
      else log.error({ err: error }, 'a Google purchase could not be processed')
    }
  }

  /** A pause that is longer than it was meant to be began while the clock was ahead. */
  function isPaused(): boolean {
    const left = paused.until - now().getTime()
    return left > 0 && left <= paused.ms
  }

  /** A fault that concerns all purchases stops the queue for a while. */
  function pauseAfter(error: PlayApiError) {
    const isGeneral = ['refused_key', 'limited', 'busy', 'unreachable'].includes(error.reason)
    if (!isGeneral || isPaused()) return
    const doubled = Math.min(MINUTE_MS * 2 ** Math.min(failures, 10), MAX_PAUSE_MS)
    const ms = error.reason === 'refused_key' ? REFUSED_PAUSE_MS : (error.retryAfterMs ?? doubled)
    paused = { until: now().getTime() + ms, ms }
    if (failures === 0) log.error({ err: error }, 'Google cannot be asked about purchases')
    failures++
  }
}
