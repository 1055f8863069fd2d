import { type Measured, measureStep, type Running } from './measure.ts'
import type { Latencies, StepResult } from './open-loop.ts'
import { describeStep } from './report.ts'
import { nextRate, type Tried } from './search.ts'

/** Which requests must be answered within the limit, while all of them are sent. */
export type Criterion = { name: string; of: (result: StepResult) => Latencies }

/** `limit` is the p99 in ms, `seconds` and `warmUp` are those of a step, `rounds` confirm what was found. */
export type SearchOptions = { limit: number; seconds: number; warmUp: number; rounds: number }

/**
 * The highest rate of a server, and the round with the median. Without a rate (null) that is the step
 * with the lowest one, or the round at the rate that was not confirmed.
 */
export type Found = { name: string; criterion: string; rate: number | null; shown: Measured }

type Candidate = { one: Running; tried: Tried[]; rounds: Measured[]; refuted: number }

/** How many requests may fail at a rate that is sustained. */
const FAILURES = 0.001
/** Others keep so many cores busy, or the generator itself is so late, in ms: a step that fails then is done again. */
const DISTURBED = { others: 0.3, lag: 20 }
/** At most. */
const TRIES = 4
const WARM_UP_RATE = 50
/** After so many rates that were found and not confirmed there is nothing to find. */
const MAX_REFUTED = 3

/**
 * Searches the rates of all servers in turns, so that what else happens to the machine happens to all of
 * them. What was measured for one criterion is judged again for the next one.
 */
export function createRateFinder(servers: Running[], options: SearchOptions) {
  const { limit, seconds, warmUp, rounds } = options
  const steps = new Map<Running, Measured[]>(servers.map((one) => [one, []]))
  let seed = 0
  return { warmUpAll, find }

  /** What a server loads or compiles at its first requests is no part of the search. */
  async function warmUpAll() {
    for (const one of servers) await measure(one, WARM_UP_RATE, 'warming up')
  }

  async function find(criterion: Criterion): Promise<Found[]> {
    const found = new Map<Running, Found>()
    let open = servers.map((one): Candidate => ({ one, tried: judge(one), rounds: [], refuted: 0 }))
    while (open.length > 0) {
      seed++
      const searching = open.filter(({ tried }) => nextRate(tried).kind === 'try')
      for (const candidate of searching.length > 0 ? searching : open) {
        const { rate } = nextRate(candidate.tried)
        const name = candidate.one.contender.name
        const known = { name, criterion: criterion.name, rate }
        if (rate === null) {
          found.set(candidate.one, { ...known, shown: lowestStep(candidate.one) })
        } else if (searching.length > 0) await tryRate(candidate, rate)
        else {
          const shown = await confirm(candidate, rate)
          if (shown) found.set(candidate.one, { ...known, ...shown })
        }
      }
      open = open.filter(({ one }) => !found.has(one))
    }
    return servers.flatMap((one) => found.get(one) ?? [])

    function judge(one: Running): Tried[] {
      return (steps.get(one) ?? []).map(({ rate, result }) => ({
        rate,
        isSustained: meets(result),
      }))
    }

    async function tryRate({ one, tried }: Candidate, rate: number) {
      const measured = await measureUndisturbed(one, rate)
      steps.get(one)?.push(measured)
      tried.push({ rate, isSustained: meets(measured.result) })
    }

    /** Null while there must be more rounds, or a lower rate. */
    async function confirm(candidate: Candidate, rate: number) {
      candidate.rounds.push(await measureUndisturbed(candidate.one, rate, 'confirming'))
      if (candidate.rounds.length < rounds) return null
      const shown = medianOf(candidate.rounds)
      if (meets(shown.result)) return { rate, shown }
      candidate.rounds = []
      candidate.tried = candidate.tried.filter((one) => one.rate !== rate)
      candidate.tried.push({ rate, isSustained: false })
      return ++candidate.refuted < MAX_REFUTED ? null : { rate: null, shown }
    }

    async function measureUndisturbed(one: Running, rate: number, what = ''): Promise<Measured> {
      for (let tries = 1; ; tries++) {
        const measured = await measure(one, rate, what)
        const isDisturbed =
          measured.cores.others > DISTURBED.others || measured.result.lag > DISTURBED.lag
        if (!isDisturbed || meets(measured.result) || tries === TRIES) return measured
      }
    }

    function meets(result: StepResult): boolean {
      return criterion.of(result).p99 < limit && !failsTooOften(result)
    }

    /** By the 99th percentile; a round with too many failures is a slow one. */
    function medianOf(measured: Measured[]): Measured {
      const slowness = ({ result }: Measured) =>
        failsTooOften(result) ? Number.POSITIVE_INFINITY : criterion.of(result).p99
      const sorted = measured.toSorted((a, b) => slowness(a) - slowness(b))
      return sorted[Math.floor(sorted.length / 2)] as Measured
    }
  }

  async function measure(one: Running, rate: number, what = ''): Promise<Measured> {
    const measured = await measureStep(one, { rate, seconds, warmUp, seed })
    console.log(`  ${[what, one.contender.name].join(' ').trim()}, ${describeStep(measured)}`)
    return measured
  }

  function lowestStep(one: Running): Measured {
    return (steps.get(one) ?? []).toSorted((a, b) => a.rate - b.rate)[0] as Measured
  }
}

function failsTooOften({ failed, all }: StepResult): boolean {
  return failed > all.count * FAILURES
}
