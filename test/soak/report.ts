import type { Outcome } from './run.ts'
import { type Sample, type Slope, slopeOf } from './slopes.ts'

const MAX_LISTED = 20
/** Caches take some minutes to fill, and the heap about half an hour. */
const AGES = [5, 30]

/** The outcome as Markdown, also for docs/internal/measurements.md. */
export function report(outcome: Outcome): string {
  const { engine, minutes, rate, stats, failures, isClean, problems, errors } = outcome
  return [
    `\n## ${minutes.toFixed(0)} minutes on ${engine}, ${rate} actions per second`,
    `${stats.done} actions done, ${stats.skipped} skipped because too many waited; ${failures} requests were refused or unanswered, and retried.`,
    table(['acknowledged', 'count', 'lost', 'duplicated', 'never sent'], comparisonRows(outcome)),
    table(
      ['fault', 'times', 'requests refused', 'longest time from its end to the last refusal'],
      faultRows(outcome),
    ),
    table(['action', 'count', 'p50 ms', 'p99 ms', 'longest s'], timeRows(outcome)),
    table(
      [
        'process',
        'median',
        ...AGES.map((age) => `growth per hour from minute ${age} of a process`),
      ],
      sampleRows(outcome),
    ),
    table(['error in the log', 'times'], [...errors]),
    `Problems: ${problems.length}.`,
    ...problems.slice(0, MAX_LISTED).map((text) => `- ${text}`),
    isClean ? 'The ledger is clean.' : 'THE LEDGER IS NOT CLEAN.',
  ].join('\n\n')
}

function comparisonRows({ comparisons }: Outcome) {
  const { events, users, files, filesOnDisk, webhooks } = comparisons
  const rows = {
    events,
    users,
    files,
    'files on disk, compared with rows': filesOnDisk,
    webhooks,
  }
  return Object.entries(rows).map(([name, { acknowledged, lost, duplicates, unknown }]) => [
    name,
    acknowledged,
    lost.length,
    duplicates,
    unknown.length,
  ])
}

function faultRows({ faultResults }: Outcome) {
  return [...Map.groupBy(faultResults, ({ name }) => name)].map(([name, results]) => [
    name,
    results.length,
    results.reduce((sum, { failures }) => sum + failures, 0),
    `${Math.round(Math.max(...results.map(({ recovery }) => recovery)))} ms`,
  ])
}

function timeRows({ times }: Outcome) {
  return [...times].map(([kind, all]) => {
    const sorted = all.toSorted((a, b) => a - b)
    const quantile = (share: number) => sorted[Math.floor((sorted.length - 1) * share)] ?? 0
    const [p50, p99, longest] = [quantile(0.5), quantile(0.99), quantile(1)]
    return [kind, all.length, p50.toFixed(1), p99.toFixed(0), (longest / 1000).toFixed(1)]
  })
}

function sampleRows({ samples }: Outcome) {
  const values = {
    'resident memory, MB': ({ memory }: Sample) => memory / 1e6,
    descriptors: ({ descriptors }: Sample) => descriptors,
  }
  return Object.entries(values).map(([name, value]) => [
    name,
    formatMedian(samples.map(value)),
    ...AGES.map((age) => formatSlope(slopeOf(samples, value, age))),
  ])
}

function formatMedian(values: number[]): string {
  return (values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0).toFixed(0)
}

function formatSlope(slope: Slope | null): string {
  if (!slope) return 'no process ran long enough'
  return `${slope.perHour.toFixed(2)} ± ${slope.error.toFixed(2)}`
}

function table(head: string[], rows: (string | number)[][]): string {
  const line = (cells: (string | number)[]) => `| ${cells.join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}
