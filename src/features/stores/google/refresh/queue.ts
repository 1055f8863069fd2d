import { oneAtATime } from '../../../../lib/concurrency/one-at-a-time.ts'
import type { Log } from '../../../../lib/log/log.ts'
import { MINUTE_MS } from '../../../../lib/time/durations.ts'
import { PlayApiError } from '../api/api-error.ts'
import type { KnownPurchase, PlayPurchases } from './purchases.ts'
import type { AskGoogle } from './refresh.ts'

type PlayQueueDeps = {
  purchases: PlayPurchases
  ask: AskGoogle
  /** At most this many purchases a second; Google allows 3,000 requests a minute. */
  requestsPerSecond?: number | undefined
  now: () => Date
  log: Log
}

type Pause = { until: number; ms: number }

export type PlayQueue = ReturnType<typeof createPlayQueue>

const ASKS_PER_SECOND = 20
const REFUSED_PAUSE_MS = 10 * MINUTE_MS
const NOT_ACKNOWLEDGED = 'Google does not let the service account acknowledge a purchase'
const MAX_PAUSE_MS = 10 * MINUTE_MS

/** Asks Google about all due purchases. Several instances may work at once: each purchase is leased. */
export function createPlayQueue(deps: PlayQueueDeps) {
  const { purchases, ask, now, log, requestsPerSecond = ASKS_PER_SECOND } = deps
  const stopping = new AbortController()
  let paused: Pause = { until: 0, ms: 0 }
  /** By package: Google may refuse the account for one app only. */
  const refused = new Map<string, Pause>()
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
    while (!stopping.signal.aborted && !isInForce(paused)) {
      const startedAt = performance.now()
      const waiting = [...refused].flatMap(([name, pause]) => (isInForce(pause) ? [name] : []))
      const batch = await purchases.lease(requestsPerSecond, waiting)
      if (batch.length === 0) return
      await Promise.all(batch.map(askAbout))
      if (batch.length === requestsPerSecond) {
        await Bun.sleep(Math.max(0, 1_000 - (performance.now() - startedAt)))
      }
    }
  }

  async function askAbout(purchase: KnownPurchase) {
    try {
      const { fault } = await ask(purchase, stopping.signal)
      if (fault === null) {
        failures = 0
        refused.delete(purchase.packageName)
      }
      // The service account may lack only the permission to acknowledge.
      else if (fault.reason === 'refused_key') log.warn({ err: fault }, NOT_ACKNOWLEDGED)
      else pauseAfter(fault, purchase)
    } catch (error) {
      if (stopping.signal.aborted) return
      if (error instanceof PlayApiError) pauseAfter(error, purchase)
      // The lease delays the next attempt.
      else log.error({ err: error }, 'a Google purchase could not be processed')
    }
  }

  /** A pause that is longer than it was meant to be began while the clock was ahead. */
  function isInForce({ until, ms }: Pause): boolean {
    const left = until - now().getTime()
    return left > 0 && left <= ms
  }

  function pauseFor(ms: number): Pause {
    return { until: now().getTime() + ms, ms }
  }

  /** A fault that concerns all purchases, or all of an app, stops asking about them for a while. */
  function pauseAfter(error: PlayApiError, { packageName }: KnownPurchase) {
    if (error.reason === 'refused_key') {
      if (!refused.has(packageName)) {
        log.error({ err: error, packageName }, 'Google refuses to describe the purchases of an app')
      }
      refused.set(packageName, pauseFor(REFUSED_PAUSE_MS))
      return
    }
    const isGeneral = ['limited', 'busy', 'unreachable'].includes(error.reason)
    if (!isGeneral || isInForce(paused)) return
    const doubled = Math.min(MINUTE_MS * 2 ** Math.min(failures, 10), MAX_PAUSE_MS)
    paused = pauseFor(error.retryAfterMs ?? doubled)
    if (failures === 0) log.error({ err: error }, 'Google cannot be asked about purchases')
    failures++
  }
}
