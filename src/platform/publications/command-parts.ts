import { type Options, UsageError } from '../../lib/command.ts'
import type { Publication, Publishing } from './publications.ts'

/** Shows the versions in the place of what is served. */
export const historyOption: [string, string] = ['--history', 'the versions, the newest first']
export const noteOption: [string, string] = ['--note <text>', 'why, for the history']

export function readNote({ note }: Options): Publishing {
  return { author: null, note: typeof note === 'string' ? note : '' }
}

export function readVersion(text: string | undefined): number {
  const version = Number(text)
  if (Number.isInteger(version) && version > 0) return version
  throw new UsageError('Say the version as a number: --history lists them.')
}

/** A line a version, and under it a line a change. */
export function printHistory(versions: Publication[]): string {
  return versions
    .flatMap(({ version, author, note, publishedAt, differences }) => [
      [version, publishedAt, author ?? 'command', note].join('\t').trimEnd(),
      ...differences.map(
        ({ path, before, after }) =>
          `\t${path}: ${JSON.stringify(before)} → ${JSON.stringify(after)}`,
      ),
    ])
    .join('\n')
}
