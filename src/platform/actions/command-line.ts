import type { Static, TObject, TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import {
  type DataCommand,
  type Options,
  parseListOption,
  parseTimeOption,
  toFlag,
  UsageError,
} from '../../lib/command.ts'
import { check } from '../../lib/validation.ts'
import { type AnyAction, performAction } from './action.ts'

type Members = Record<string, TSchema>

/** The commands of the actions that have one. */
export function toCommands(actions: readonly AnyAction[]): DataCommand<never>[] {
  return actions.flatMap((action) => toCommand(action) ?? [])
}

function toCommand(action: AnyAction): DataCommand<never> | null {
  const { name, summary, input: schema, command } = action
  if (command === null) return null
  const { words, arguments: forms = {}, options, read, steps, risk, report, ...output } = command
  const positional = Object.keys(forms)
  return {
    name: words ?? name.replace('.', ' '),
    summary,
    arguments: Object.values(forms).join(' '),
    options: options ?? describeOptions(schema, positional),
    ...(steps
      ? { steps }
      : { input: read ?? ((args, given) => readInput(schema, positional, args, given)) }),
    ...(risk && { risk }),
    ...output,
    async work(services, input, { user, record }) {
      const outcome = await performAction(
        action,
        services,
        check(schema, input, 'arguments'),
        { caller: { name: user, via: 'command' } },
        record,
      )
      return report ? report(outcome, services) : outcome
    },
  }
}

/** The options of a command: the members of its input that are not among the positional arguments. */
export function describeOptions(
  { properties }: TObject,
  positional: string[] = [],
): [flags: string, meaning: string, kind?: 'list'][] {
  const members = Object.entries(properties as Members).filter(
    ([name, { isForConsole }]) => !positional.includes(name) && !isForConsole,
  )
  return members.map(([name, schema]) => {
    const { type, format } = schema
    const [flag, description] = [toFlag(name), describeMember(schema)]
    if (type === 'boolean') return [flag, description]
    if (type === 'array') return [`${flag} <${name}>`, description, 'list']
    const kind = format === 'date-time' ? 'time' : type === 'integer' ? 'number' : name
    return [`${flag} <${schema['placeholder'] ?? kind}>`, description]
  })
}

/** Throws `UsageError` for missing or invalid members. */
export function readInput<Schema extends TObject>(
  { properties, required = [] }: Schema,
  positional: string[],
  args: string[],
  options: Options,
): Static<Schema> {
  const members = Object.entries(properties as Members).flatMap(([name, schema]) => {
    const at = positional.indexOf(name)
    const label = at === -1 ? toFlag(name) : name
    const given = at === -1 ? options[name] : schema['type'] === 'array' ? args : args[at]
    if (given !== undefined) return [[name, readValue(schema, given, label)]]
    if (required.includes(name))
      throw new UsageError(`Specify ${label}: ${describeMember(schema)}.`)
    return []
  })
  return Object.fromEntries(members) as Static<Schema>
}

function readValue(schema: TSchema, given: string | boolean | string[], label: string): unknown {
  const value = parseValue(schema, given, label)
  if (typeof schema['error'] === 'string' && !Value.Check(schema, value))
    throw new UsageError(`${label} ${schema['error']}.`)
  return value
}

function parseValue({ type, format, minimum }: TSchema, given: unknown, label: string): unknown {
  if (typeof given !== 'string') return given
  if (type === 'array') return parseListOption(given)
  if (format === 'date-time') return parseTimeOption(given, label).toISOString()
  if (type !== 'integer') return given
  const number = Number(given)
  if (!/^-?\d{1,15}$/.test(given) || number < (minimum ?? -Infinity))
    throw new UsageError(
      `${label} must be a whole number${minimum ? ` of at least ${minimum}` : ''}.`,
    )
  return number
}

/** The description of a member without its Markdown. */
function describeMember({ description = '' }: TSchema): string {
  return description.replaceAll('`', '')
}
