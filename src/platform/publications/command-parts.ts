import { type Options, UsageError } from '../../lib/command.ts'
import { describeConditions, describePath, isRule } from '../../lib/text/rule-labels.ts'
import type { Publication, Publishing } from './publications.ts'

export const historyOption: [string, string] = ['--history', 'list the versions, newest first']
export const noteOption: [string, string] = ['--note <text>', 'the reason, for the history']

export function readNote({ note }: Options): Publishing {
  return { author: null, note: typeof note === 'string' ? note : '' }
}

export function readVersion(text: string | undefined): number {
  const version = Number(text)
  if (Number.isInteger(version) && version > 0) return version
  throw new UsageError('Specify the version number: --history lists all versions.')
}

/** One line per version, followed by one line per change. */
export function printHistory(versions: Publication[]): string {
  return versions
    .flatMap(({ version, author, note, publishedAt, differences }) => [
      [version, publishedAt, author ?? 'command', note].join('\t').trimEnd(),
      ...differences.map(
        ({ path, before, after }) =>
          `\t${describePath(path)}: ${formatValue(before)} → ${formatValue(after)}`,
      ),
    ])
    .join('\n')
}

function formatValue(value: unknown): string {
  if (!isRule(value)) return JSON.stringify(value)
  return `${JSON.stringify(value.value)} ${describeConditions(value)}`
}
