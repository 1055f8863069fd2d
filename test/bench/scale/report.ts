import { cpus, totalmem } from 'node:os'
import { median } from '../median.ts'
import type { Latencies } from './latencies.ts'

/** Ratios of large to empty above this are printed in bold. */
const HIGHLIGHT_RATIO = 1.5

/** Prints a table in GitHub's Markdown. */
export function printTable(title: string, head: string[], rows: (string | number)[][]) {
  const line = (cells: (string | number)[]) => `| ${cells.join(' | ')} |`
  console.log(
    [`\n### ${title}\n`, line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n'),
  )
}

/**
 * Prints p50 and p99 of both sides in ms, with ratios. Each figure is the median over the blocks,
 * because a pause of the machine affects only one block.
 */
export function printLatencies(title: string, all: Latencies[]) {
  const head = ['', 'p50 large', 'empty', 'ratio', 'p99 large', 'empty', 'ratio']
  const rows = all.map(({ name, large, empty }) => {
    const cells = [0.5, 0.99].flatMap((share) => {
      const [a, b] = [quantile(large, share), quantile(empty, share)]
      return [a.toFixed(2), b.toFixed(2), ratio(a, b)]
    })
    return [name, ...cells]
  })
  printTable(`${title}, in ms`, head, rows)
}

/** A table row that compares two figures, the large side first. */
export function comparisonRow(name: string, [large = 0, empty = 0]: number[]): string[] {
  return [name, large.toFixed(1), empty.toFixed(1), ratio(large, empty)]
}

/** A table row that compares two rates, where more is better. */
export function rateComparisonRow(name: string, [large = 0, empty = 0]: number[]): string[] {
  const text = (large / empty).toFixed(2)
  return [
    name,
    large.toFixed(0),
    empty.toFixed(0),
    empty / large > HIGHLIGHT_RATIO ? `**${text}**` : text,
  ]
}

/** Large divided by empty, in bold if the data makes it slow. */
export function ratio(large: number, empty: number): string {
  const text = (large / empty).toFixed(2)
  return large / empty > HIGHLIGHT_RATIO ? `**${text}**` : text
}

/** The machine and commit of the measurement. */
export function describeMachine(): string {
  const commit = Bun.spawnSync(['git', 'rev-parse', '--short', 'HEAD']).stdout.toString().trim()
  const [first] = cpus()
  return [
    `${first?.model.trim() ?? 'unknown CPU'}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GiB`,
    `commit ${commit || 'unknown'}`,
    new Date().toISOString().slice(0, 10),
  ].join('; ')
}

/** The median of the blocks' quantiles. Each block is in ascending order. */
export function quantile(blocks: number[][], share: number): number {
  return median(
    blocks.map((sorted) => sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN),
  )
}
