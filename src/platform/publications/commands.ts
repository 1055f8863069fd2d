import { dataCommand, prettyJson } from '../../lib/command.ts'
import { describeConditions, describePath, isRule } from '../../lib/text/rule-labels.ts'
import type { Publication, Published } from './publications.ts'

export const historyOption: [string, string] = ['--history', 'list the versions, newest first']

/** The command that prints one `kind` of content in the format that its `publish` reads. */
export function exportCommand<Needs>(
  kind: string,
  content: string,
  find: (needs: Needs) => Pick<Published<unknown>, 'readLive'>,
) {
  return dataCommand({
    name: `${kind} export`,
    summary: `Print ${content} as JSON for "${kind} publish"`,
    work: async (needs: Needs) => (await find(needs).readLive()).content,
    print: prettyJson,
  })
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
