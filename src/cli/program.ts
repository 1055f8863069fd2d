import { Command as Commander, Option } from 'commander'
import { UsageError } from '../lib/command.ts'
import { BUILD } from '../version.ts'
import type { Command } from './command.ts'

type CommandAction = (command: Command, args: string[], options: Commander) => Promise<void>

const COMMON_OPTIONS =
  'Commands accept --json for machine-readable output, and --yes to skip confirmation. "homeport help environment" lists the settings.'

/** Registers the commands with commander; `runCommand` runs each of them. */
export function createProgram(commands: Command[], runCommand: CommandAction): Commander {
  const program = new Commander('homeport')
    .description('The backend for a mobile app, in one executable.')
    .version(BUILD)
    .addHelpText('after', `\n${COMMON_OPTIONS}`)
    .exitOverride()
  for (const command of commands) {
    const builder = registerCommand(program, command, commands)
    builder.action(async (...actionArgs: unknown[]) => {
      // commander passes the arguments, then the options, then itself.
      await runCommand(command, actionArgs.slice(0, -2).flat() as string[], builder)
    })
  }
  return program
}

/** Rewrites `help user list` and `user help list` to `user list --help`. */
export function expandHelp(argv: string[], commands: Command[]): string[] {
  const [first = '', second] = argv
  if (first === 'help') return [...argv.slice(1), '--help']
  const isGroup = commands.some(({ name }) => name.startsWith(`${first} `))
  return isGroup && second === 'help' ? [first, ...argv.slice(2), '--help'] : argv
}

/** Throws `UsageError` for an unknown command, which commander would treat as an argument of the default command. */
export function requireKnownCommand([first = '', second]: string[], commands: Command[]) {
  if (first === '' || first.startsWith('-')) return
  const found = commands.filter(({ name }) => name.split(' ')[0] === first)
  const subcommands = found.flatMap(({ name }) => name.split(' ')[1] ?? [])
  if (found.length === 0) {
    throw new UsageError(`There is no command ${first}: "homeport help" lists them.`)
  }
  const isKnown = second === undefined || second.startsWith('-') || subcommands.includes(second)
  if (subcommands.length > 0 && !isKnown) {
    throw new UsageError(
      `There is no command ${first} ${second}: use one of ${subcommands.join(', ')}.`,
    )
  }
}

/** `settings get` becomes the command `get` in the group `settings`. */
function registerCommand(program: Commander, command: Command, commands: Command[]): Commander {
  const [first = '', second] = command.name.split(' ')
  let parent = program
  if (second !== undefined) {
    parent =
      program.commands.find((group) => group.name() === first) ??
      program
        .command(first)
        .description(`Commands: ${listSubcommands(first, commands).join(', ')}`)
        .helpCommand(false)
        .exitOverride()
  }
  const builder = parent
    .command(`${second ?? first} ${command.arguments ?? ''}`.trim(), {
      isDefault: command.name === 'serve',
    })
    .description(command.summary)
    .option('--json', 'print machine-readable output')
    .exitOverride()
  for (const [flags, description, kind] of command.options ?? []) {
    const option = new Option(flags, description)
    builder.addOption(kind === 'list' ? option.argParser(appendToList) : option)
  }
  const yes = new Option('--yes', 'skip the confirmation')
  const hasYes = builder.options.some(({ long }) => long === yes.long)
  // Every command accepts --yes, but help shows it only for commands that ask for confirmation.
  if (!hasYes) builder.addOption(yes.hideHelp(!('risk' in command)))
  return builder
}

function appendToList(value: string, earlier: string | undefined): string {
  return earlier === undefined ? value : `${earlier},${value}`
}

function listSubcommands(group: string, commands: Command[]): string[] {
  const names = commands.map(({ name }) => name.split(' '))
  return names.flatMap(([first, second]) => (first === group && second ? [second] : []))
}
