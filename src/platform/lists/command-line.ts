import { t } from 'elysia'
import type { DataCommand } from '../../lib/command.ts'
import { check } from '../../lib/validation.ts'
import { describeOptions, readInput } from '../actions/command-line.ts'
import { closedObject, integer } from '../http/replies/envelope.ts'
import { type AnyList, findNext, hasPages } from './list.ts'

const limit = t.Optional(
  integer({
    minimum: 1,
    maximum: 999_999,
    description: 'maximum number of results (default: 50)',
    placeholder: 'count',
  }),
)

/** The commands of the lists that have one. */
export function toListCommands(lists: readonly AnyList[]): DataCommand<never>[] {
  return lists.flatMap((list) => toCommand(list) ?? [])
}

function toCommand(list: AnyList): DataCommand<never> | null {
  const { name, summary, query, command } = list
  if (command === null) return null
  const {
    words = `${name} list`,
    arguments: forms = {},
    options,
    read,
    line,
    hasOnlyRows,
  } = command
  const positional = Object.keys(forms)
  const schema = closedObject({ ...query.properties, ...(hasPages(list) && { limit }) })
  return {
    name: words,
    summary,
    arguments: Object.values(forms).join(' '),
    options: options ?? describeOptions(schema, positional),
    input: read ?? ((args, given) => readInput(schema, positional, args, given)),
    async work(services, input) {
      const { signal } = new AbortController()
      const page = await list.read(services, check(schema, input, 'arguments') as never, {
        reader: 'command',
        signal,
        role: null,
        baseUrl: '',
      })
      return hasOnlyRows ? list.rows(page) : page
    },
    print(printed) {
      const rows = hasOnlyRows ? (printed as unknown[]) : list.rows(printed)
      const next = hasOnlyRows ? null : findNext(list, printed)
      const lines = rows.map((row) => [line(row)].flat().join('\t').trimEnd())
      return [...lines, ...(next === null ? [] : [`More: --after ${next}`])].join('\n')
    },
  }
}
