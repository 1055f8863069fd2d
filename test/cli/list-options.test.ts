import { expect, test } from 'bun:test'
import { commands } from '../../src/cli/commands.ts'
import { createProgram } from '../../src/cli/program.ts'
import { parseListOption } from '../../src/lib/command.ts'

/** The flag of each option whose value is a list, such as `--scope <scopes>`, with its command. */
const LISTS = commands.flatMap(({ name, arguments: args = '', options = [] }) =>
  options.flatMap(([flags]): [command: string, flag: string, needed: string[]][] => {
    const [, flag = '', value = ''] = /^(--[\w-]+) <(\w+)>$/.exec(flags) ?? []
    const needed = (args.match(/<[^>]*>/g) ?? []).map(() => 'x')
    return value.endsWith('s') && value !== 'days' ? [[name, flag, needed]] : []
  }),
)

test('knows the options that take lists', () => {
  const known = [
    'api-keys create --network',
    'api-keys create --scope',
    'settings explain --language',
  ]
  const found = LISTS.map(([name, flag]) => `${name} ${flag}`)
  expect(found).toEqual(expect.arrayContaining(known))
})

test.each(LISTS)('%s combines the values of a repeated %s', async (name, flag, needed) => {
  let given: unknown
  const program = createProgram(commands, async (_command, _args, builder) => {
    given = Object.values(builder.opts()).find((value) => typeof value === 'string')
  })
  const words = [...name.split(' '), ...needed, flag, 'a', flag, 'b, c', `${flag}=d`]
  await program.parseAsync(words, { from: 'user' })
  expect(parseListOption(given as string)).toEqual(['a', 'b', 'c', 'd'])
})
