import type { ConnectionPool, Exchange } from './connection-pool.ts'
import { type Arrival, KINDS, type Kind } from './mix.ts'
import type { Reply } from './reply-reader.ts'

/** Latencies in ms, counted from when a request was due. */
export type Latencies = { count: number; p50: number; p99: number; max: number }

export type StepResult = {
  all: Latencies
  /** All but those that work for tens of ms: sign-ins and pictures. */
  light: Latencies
  kinds: Record<Kind, Latencies>
  /** How often each reply came that is neither 200 nor 304; `none` stands for a request without a reply. */
  failures: Record<string, number>
  failed: number
  /** By how much the generator itself was late, in ms: its 99th percentile. */
  lag: number
}

type StepOptions = {
  arrivals: Arrival[]
  /** Requests that are due before are sent and not counted, in ms. */
  warmUp: number
  pool: ConnectionPool
  /** Makes a request as late as it is sent; told of the reply when it is there. */
  exchangeOf: (kind: Kind) => Exchange
  /** How long is waited for replies after the last request was due, in ms. */
  patience: number
}

type Answered = { kind: Kind; latency: number }

/** A download is one where the server converts at the first read. */
export const SLOW_KINDS: Kind[] = ['signIn', 'upload', 'download']

/**
 * Sends each request when it is due, whether or not earlier ones are answered, and counts its latency
 * from then: a wait for the server or for a connection is part of it (no coordinated omission).
 */
export async function runStep(options: StepOptions): Promise<StepResult> {
  const { arrivals, warmUp, pool, exchangeOf, patience } = options
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
      const { bytes, accept } = exchangeOf(arrival.kind)
      return { bytes, accept: (reply) => settle(arrival, reply, accept) }
    })
  }
  if (open > 0) await Promise.race([settled.promise, Bun.sleep(patience)])
  // What is still open counts as failed, with the time that it has had.
  if (open > 0) pool.close()
  await settled.promise

  const select = (of: (kind: Kind) => boolean) =>
    summarize(answered.filter(({ kind }) => of(kind)).map(({ latency }) => latency))
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

/** Whether a request got what it asked for. */
export function isGood(reply: Reply | null): reply is Reply {
  return reply?.status === 200 || reply?.status === 304
}

function summarize(values: number[]): Latencies {
  const sorted = values.toSorted((a, b) => a - b)
  const at = (share: number) => sorted[Math.floor(sorted.length * share)] ?? 0
  return { count: sorted.length, p50: at(0.5), p99: at(0.99), max: sorted.at(-1) ?? 0 }
}
