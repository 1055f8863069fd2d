import type { ConnectionPool, Exchange } from './connection-pool.ts'
import { type Arrival, KINDS, type Kind } from './mix.ts'
import type { Reply } from './reply-reader.ts'

/** Latencies in ms, from the time a request was due. */
export type Latencies = { count: number; p50: number; p99: number; max: number }

export type StepResult = {
  all: Latencies
  /** All requests except the slow kinds: sign-ins and images. */
  light: Latencies
  kinds: Record<Kind, Latencies>
  /** Counts of responses other than 200 and 304; `none` counts requests without a response. */
  failures: Record<string, number>
  failed: number
  /** The generator's own delay in ms, 99th percentile. */
  lag: number
}

type StepOptions = {
  arrivals: Arrival[]
  /** Requests due before this time, in ms, are sent but not counted. */
  warmUp: number
  pool: ConnectionPool
  /** Builds a request right before it is sent, and receives the response. */
  createExchange: (kind: Kind) => Exchange
  /** How long to wait for responses after the last request was due, in ms. */
  replyTimeout: number
}

type Answered = { kind: Kind; latency: number }

/** Downloads count as slow, because a server may convert an image only when it is first read. */
export const SLOW_KINDS: Kind[] = ['signIn', 'upload', 'download']

/**
 * Sends each request when it is due, whether or not earlier ones were answered, and measures its latency
 * from then, so waiting for the server or a connection counts (no coordinated omission).
 */
export async function runStep(options: StepOptions): Promise<StepResult> {
  const { arrivals, warmUp, pool, createExchange, replyTimeout } = options
  const answered: Answered[] = []
  const lags: number[] = []
  const failures: Record<string, number> = {}
  const settled = Promise.withResolvers<void>()
  let open = arrivals.length
  const startedAt = performance.now()

  for (const arrival of arrivals) {
    const wait = startedAt + arrival.at - performance.now()
    if (wait > 0) await Bun.sleep(wait)
    lags.push(performance.now() - startedAt - arrival.at)
    pool.send(() => {
      const { bytes, accept } = createExchange(arrival.kind)
      return { bytes, accept: (reply) => settle(arrival, reply, accept) }
    })
  }
  if (open > 0) await Promise.race([settled.promise, Bun.sleep(replyTimeout)])
  // Unanswered requests count as failed, with the time elapsed so far.
  if (open > 0) pool.close()
  await settled.promise

  const select = (isSelected: (kind: Kind) => boolean) =>
    summarize(answered.filter(({ kind }) => isSelected(kind)).map(({ latency }) => latency))
  return {
    all: select(() => true),
    light: select((kind) => !SLOW_KINDS.includes(kind)),
    kinds: Object.fromEntries(
      KINDS.map((kind) => [kind, select((other) => other === kind)]),
    ) as StepResult['kinds'],
    failures,
    failed: Object.values(failures).reduce((sum, count) => sum + count, 0),
    lag: summarize(lags).p99,
  }

  function settle({ at, kind }: Arrival, reply: Reply | null, accept: Exchange['accept']) {
    const latency = performance.now() - startedAt - at
    accept(reply)
    if (at >= warmUp) {
      answered.push({ kind, latency })
      if (!isGood(reply)) {
        const status = reply === null ? 'none' : String((reply as Reply).status)
        failures[status] = (failures[status] ?? 0) + 1
      }
    }
    if (--open === 0) settled.resolve()
  }
}

/** Whether a request succeeded. */
export function isGood(reply: Reply | null): reply is Reply {
  return reply?.status === 200 || reply?.status === 304
}

function summarize(values: number[]): Latencies {
  const sorted = values.toSorted((a, b) => a - b)
  const quantile = (share: number) => sorted[Math.floor(sorted.length * share)] ?? 0
  return { count: sorted.length, p50: quantile(0.5), p99: quantile(0.99), max: sorted.at(-1) ?? 0 }
}
