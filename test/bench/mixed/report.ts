import { bestOf, type Criterion, medianP99, type Tries } from './find-rates.ts'
import type { Measurement, ServerUnderLoad } from './measure.ts'
import { KINDS } from './mix.ts'
import type { Latencies } from './open-loop.ts'

/** Above these values a step's figures are marked as unreliable: the generator's delay in ms, cores used by others. */
const LATE = 20
const MAX_OTHER_CORES = 0.1

/** A one-line summary of a step. */
export function describeStep({ rate, result, cores }: Measurement): string {
  const { all, light, failed, failures, lag } = result
  const replies = Object.entries(failures).map(([status, count]) => `${count} × ${status}`)
  return [
    `${rate}/s: p99 ${inMs(all.p99)}`,
    `without sign-ins and pictures ${inMs(light.p99)}`,
    failed === 0 ? 'none failed' : `${failed} failed (${replies.join(', ')})`,
    `${cores.server.toFixed(2)} cores, the generator ${cores.generator.toFixed(2)}`,
    ...(cores.others > MAX_OTHER_CORES ? [`OTHERS ${cores.others.toFixed(2)}`] : []),
    ...(lag > LATE ? [`the generator was ${inMs(lag)} late`] : []),
  ].join(', ')
}

/** Prints each server's p99 by rate, its highest rate for each criterion, and the latencies there. */
export function printRates(
  tries: Map<ServerUnderLoad, Tries>,
  criteria: Criterion[],
  limit: number,
) {
  const servers = [...tries]
  const names = servers.map(([{ contender }]) => contender.name)
  const rates = [...new Set(servers.flatMap(([, all]) => [...all.keys()]))].toSorted(
    (a, b) => a - b,
  )
  for (const criterion of criteria) {
    console.log(`\np99 of ${criterion.name} in ms, the median of the rounds\n`)
    console.log(
      `| requests per second | ${names.join(' | ')} |\n|${' --- |'.repeat(names.length + 1)}`,
    )
    for (const rate of rates) {
      const cells = servers.map(([, all]) => {
        const rounds = all.get(rate)
        return rounds ? medianP99(rounds, criterion).toFixed(0) : ''
      })
      console.log(`| ${[rate, ...cells].join(' | ')} |`)
    }
    console.log(`\nHighest rate with p99 of ${criterion.name} under ${limit} ms`)
    for (const [{ contender }, all] of servers) {
      const { rate, medianRound } = bestOf(all, criterion, limit)
      const found = rate === null ? 'no rate is sustained' : `${rate}/s`
      console.log(`\n${contender.name}: ${found}; ${describeStep(medianRound)}`)
      const rows = KINDS.map((kind) => [kind, medianRound.result.kinds[kind]] as const)
      printLatencies([...rows, ['all', medianRound.result.all]])
    }
  }
  console.log()
}

/** A table cell, right-aligned after the row's name. */
export function toColumn(text: string): string {
  return text.padStart(12)
}

function printLatencies(rows: (readonly [name: string, latencies: Latencies])[]) {
  console.log(`  ${'kind'.padEnd(14)}${['count', 'p50', 'p99', 'max'].map(toColumn).join('')}  ms`)
  for (const [name, { count, p50, p99, max }] of rows) {
    const figures = [String(count), ...[p50, p99, max].map((ms) => ms.toFixed(1))]
    console.log(`  ${name.padEnd(14)}${figures.map(toColumn).join('')}`)
  }
}

function inMs(ms: number): string {
  return `${ms.toFixed(ms < 10 ? 1 : 0)} ms`
}
