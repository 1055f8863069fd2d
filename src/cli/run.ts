import { resolve } from 'node:path'
import { type Command as Commander, CommanderError } from 'commander'
import {
  type Config,
  ConfigError,
  DEFAULT_DATA_DIR,
  readConfig,
  readDotEnv,
  readVariable,
} from '../config/config.ts'
import { settingsHelp } from '../config/reference.ts'
import { CommandError, EXIT, type Options, toFlag, UsageError } from '../lib/command.ts'
import { AppError } from '../lib/errors.ts'
import { describeFullDisk } from '../lib/files/free-space.ts'
import { createLog } from '../lib/log/log.ts'
import { drainLogs } from '../lib/log/log-output.ts'
import { classifyOpenError } from '../platform/db/sqlite/storage-error.ts'
import { resolveAliases } from './aliases.ts'
import {
  type Command,
  currentUser,
  executeCommand,
  performSteps,
  type ServiceCommand,
} from './command.ts'
import { commands } from './commands.ts'
import { requireData } from './data/data-directory.ts'
import { openData } from './data/open-data.ts'
import { createProgram, expandHelp, requireKnownCommand } from './program.ts'
import { sendToServer } from './server/command-socket.ts'
import { readServiceRecord, serviceVariables } from './service/service-record.ts'
import { confirmRisk, createProgress, writeOutcome } from './terminal.ts'
import { describeForOperator } from './unavailable.ts'

/** Runs a command line and returns the exit code. */
export async function run(argv: string[]): Promise<number> {
  let exitCode: number = EXIT.done
  try {
    if (argv.join(' ') === 'help environment') {
      console.log(settingsHelp())
      return EXIT.done
    }
    const words = resolveAliases(expandHelp(resolveAliases(argv), commands))
    requireKnownCommand(words, commands)
    const program = createProgram(neededFor(words), async (command, args, builder) => {
      exitCode = await runCommand(command, args, builder.opts() as Options, program)
    })
    await program.parseAsync(words, { from: 'user' })
    return exitCode
  } catch (error) {
    return await reportError(error)
  } finally {
    await drainLogs()
  }
}

/** A server needs no other command, and registering all of them takes 5% of its startup time. */
function neededFor([first = 'serve']: string[]): Command[] {
  return first === 'serve' ? commands.filter(({ name }) => name === first) : commands
}

async function runCommand(
  command: Command,
  args: string[],
  options: Options,
  program: Commander,
): Promise<number> {
  const isServer = command.name === 'serve'
  // A unit file may pass an unset variable to `serve` as an empty option.
  if (!isServer) requireNonEmptyOptions(options)
  if ('run' in command) {
    return command.run(() => loadConfigWith(options, isServer), options, args, program)
  }
  const input = await command.input?.(args, options)
  const config = loadConfigWith(options)
  if (command.risk && !options['yes']) {
    confirmRisk((await perform(command, 'risk', config, input)) as string | null)
  }
  const { steps } = command
  const outcome = steps
    ? await performAll(command, config, ({ show }) => steps(args, options, show))
    : await perform(command, 'work', config, input)
  writeOutcome(options['json'], outcome, printable(command.print(outcome)) || 'None.')
  return command.isFailure?.(outcome) ? EXIT.failed : EXIT.done
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: it matches control characters to remove them
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/g

/** Names that users choose must not control the operator's terminal. */
function printable(text: string): string {
  return text.replaceAll(CONTROLS, '')
}

/** An empty value is usually an unset variable in a script. */
function requireNonEmptyOptions(options: Options) {
  const empty = Object.keys(options).find((name) => options[name] === '' && name !== 'note')
  if (empty === undefined) return
  throw new UsageError(`${toFlag(empty)} is empty: give it a value, or leave it out.`)
}

/** Only one process writes: the running server executes the command, or else this process does. */
async function perform(
  command: ServiceCommand,
  part: 'risk' | 'work',
  config: Config,
  input: unknown,
) {
  const reply = await sendToServer(config, command, input, part)
  if (reply) return reply.outcome
  await using data = await openOwnData(config)
  return await performHere(data, command, part, input)
}

/** Like `perform` for each step; without a server, the data stays open until the last step. */
async function performAll(
  command: ServiceCommand,
  config: Config,
  begin: (progress: ReturnType<typeof createProgress>) => AsyncGenerator<unknown, unknown>,
) {
  using progress = createProgress()
  await using stack = new AsyncDisposableStack()
  let data: OpenedData | null = null
  return await performSteps(begin(progress), async (input) => {
    const reply = data ? null : await sendToServer(config, command, input, 'work')
    if (reply) return reply.outcome
    data ??= stack.use(await openOwnData(config))
    return performHere(data, command, 'work', input)
  })
}

type OpenedData = Awaited<ReturnType<typeof openOwnData>>

async function openOwnData(config: Config) {
  await requireData(config)
  return openData(config, createLog('error'), {}, { schema: 'none' })
}

async function performHere(
  { services }: OpenedData,
  command: ServiceCommand,
  part: 'risk' | 'work',
  input: unknown,
) {
  const outcome =
    part === 'work'
      ? await executeCommand(command, services, input, currentUser())
      : await command.risk?.(services, input)
  // Serialize as the socket does, so that both paths print the same.
  return JSON.parse(JSON.stringify(outcome ?? null))
}

/** Reads the `.env` of the server whose data the command uses: the working directory's may belong to another project. */
function loadConfigWith({ port, host, dataDir }: Options, isServer = false): Config {
  const flags = { PORT: port, HOST: host, DATA_DIR: dataDir }
  const givenFlags = Object.entries(flags).filter(([, value]) => typeof value === 'string')
  const chosen = Object.fromEntries(givenFlags) as Record<string, string>
  const dotEnv = readDotEnv()
  if (isServer) return readConfig(chosen, undefined, {}, dotEnv)
  const given = chosen['DATA_DIR'] ?? readVariable('DATA_DIR')
  const folder = resolve((given ?? dotEnv.variables['DATA_DIR'] ?? DEFAULT_DATA_DIR).trim())
  const file = readServiceRecord(folder)?.environmentFile ?? null
  const isOwn = file === null ? given === null : file === dotEnv.path
  return isOwn
    ? readConfig(chosen, undefined, {}, dotEnv)
    : readConfig(chosen, undefined, serviceVariables(folder))
}

async function reportError(thrown: unknown): Promise<number> {
  const error = thrown instanceof SuppressedError ? thrown.suppressed : thrown
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.done : EXIT.usage
  if (error instanceof ConfigError) return fail(error.message, EXIT.configuration)
  if (error instanceof UsageError) return fail(error.message, EXIT.usage)
  if (error instanceof CommandError) return fail(error.message, EXIT.failed)
  const { code, path } = error as { code?: string; path?: string }
  if (classifyOpenError(error)?.kind === 'full') {
    const disk = path ? `The disk that holds ${path}` : 'A disk'
    const { state, advice } = await describeFullDisk(path ?? null)
    return fail(`${disk} ${state} (${code}): ${advice}, then run this again.`, EXIT.failed)
  }
  // If an HTTP request failed, `path` is its URL, which may contain a key.
  if (path && !path.includes('://') && /^E[A-Z]+$/.test(code ?? '')) {
    return fail(
      `${path} cannot be used (${code}): check that its disk is writable and has space, and that it belongs to this user.`,
      EXIT.failed,
    )
  }
  if (error instanceof AppError) {
    const details = error.details?.map(({ path, message }) => `  ${path}: ${message}`) ?? []
    return fail([describeForOperator(error), ...details].join('\n'), EXIT.failed)
  }
  return fail(error instanceof Error ? (error.stack ?? error.message) : String(error), EXIT.failed)
}

function fail(message: string, exitCode: number): number {
  process.stderr.write(`${message}\n`)
  return exitCode
}
