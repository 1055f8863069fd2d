import { median } from '../median.ts'
import { type Measurement, measureStep, type ServerUnderLoad } from './measure.ts'
import type { Latencies, StepResult } from './open-loop.ts'
import { highestSustained, initialRates, nextRate, type RateResult } from './rates.ts'
import { describeStep } from './report.ts'

/** Selects the requests that must be answered within the limit; all kinds are always sent. */
export type Criterion = { name: string; select: (result: StepResult) => Latencies }

/**
 * `limit` is the maximum p99 in ms, `lowest` the first rate; `seconds` and `warmUp` are per step.
 * Each rate is tried `rounds` times.
 */
export type SearchOptions = {
  limit: number
  lowest: number
  seconds: number
  warmUp: number
  rounds: number
}

/** A server's rounds at each rate, in requests per second. */
export type Tries = Map<number, Measurement[]>

/** The share of requests that may fail at a sustained rate. */
const MAX_FAILURE_SHARE = 0.001
/** A slow step is repeated if other programs used this many cores, or the generator was this late, in ms. */
const DISTURBED = { others: 0.3, lag: 20 }
/** Maximum attempts per step. */
const MAX_ATTEMPTS = 3
const WARM_UP_RATE = 50

/**
 * Tries each rate on all servers in turn, so that other load on the machine affects all of them: rising rates
 * until a server has missed every criterion twice, then between the best rate for each criterion and the next one.
 */
export async function tryRates(
  servers: ServerUnderLoad[],
  criteria: Criterion[],
  options: SearchOptions,
): Promise<Map<ServerUnderLoad, Tries>> {
  const { limit, lowest, seconds, warmUp, rounds } = options
  const steps = initialRates(lowest)
  const tries = new Map<ServerUnderLoad, Tries>(servers.map((server) => [server, new Map()]))
  let seed = 0
  // The first requests trigger lazy loading and compilation, which must not be measured.
  for (const server of servers) await measure(server, WARM_UP_RATE, 'warming up')
  let remaining = servers
  for (const [at, rate] of steps.entries()) {
    if (remaining.length === 0) break
    await tryAll(remaining.map((server) => ({ server, rate })))
    if (at === 0) continue
    const last = steps.slice(at - 1, at + 1)
    remaining = remaining.filter((server) =>
      judgements(server).some((tried) =>
        tried.some(({ rate, isSustained }) => isSustained && last.includes(rate)),
      ),
    )
  }
  for (;;) {
    const next = servers.flatMap((server) =>
      [...new Set(judgements(server).map(nextRate))].flatMap((rate) =>
        rate === null ? [] : [{ server, rate }],
      ),
    )
    if (next.length === 0) return tries
    await tryAll(next)
  }

  async function tryAll(wanted: { server: ServerUnderLoad; rate: number }[]) {
    for (let round = 0; round < rounds; round++) {
      seed++
      for (const { server, rate } of wanted) {
        const all = tries.get(server) as Tries
        all.set(rate, [...(all.get(rate) ?? []), await measureUndisturbed(server, rate)])
      }
    }
  }

  function judgements(server: ServerUnderLoad): RateResult[][] {
    return criteria.map((criterion) => judge(tries.get(server) as Tries, criterion, limit))
  }

  async function measureUndisturbed(server: ServerUnderLoad, rate: number): Promise<Measurement> {
    for (let count = 1; ; count++) {
      const measurement = await measure(server, rate)
      const { cores, result } = measurement
      const isDisturbed = cores.others > DISTURBED.others || result.lag > DISTURBED.lag
      const isGood = criteria.every((criterion) => p99Of(measurement, criterion) < limit)
      if (!isDisturbed || isGood || count === MAX_ATTEMPTS) return measurement
    }
  }

  async function measure(server: ServerUnderLoad, rate: number, label = ''): Promise<Measurement> {
    const measurement = await measureStep(server, { rate, seconds, warmUp, seed })
    const name = [label, server.contender.name].join(' ').trim()
    console.log(`  ${name}, ${describeStep(measurement)}`)
    return measurement
  }
}

/** The highest rate at which the median p99 of the rounds is under the limit, and the round with that p99. */
export function bestOf(tries: Tries, criterion: Criterion, limit: number) {
  const rate = highestSustained(judge(tries, criterion, limit))
  const rounds = tries.get(rate ?? Math.min(...tries.keys())) ?? []
  const p99 = medianP99(rounds, criterion)
  const medianRound = rounds.find((round) => p99Of(round, criterion) === p99) as Measurement
  return { rate, medianRound }
}

/** In ms; infinite if too many requests failed. */
export function medianP99(rounds: Measurement[], criterion: Criterion): number {
  return median(rounds.map((round) => p99Of(round, criterion)))
}

function judge(tries: Tries, criterion: Criterion, limit: number): RateResult[] {
  return [...tries].map(([rate, rounds]) => ({
    rate,
    isSustained: medianP99(rounds, criterion) < limit,
  }))
}

function p99Of({ result }: Measurement, criterion: Criterion): number {
  const failsTooOften = result.failed > result.all.count * MAX_FAILURE_SHARE
  return failsTooOften ? Number.POSITIVE_INFINITY : criterion.select(result).p99
}
