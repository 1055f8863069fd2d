import { closeSync, existsSync, openSync, statSync } from 'node:fs'
import { chmod, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Config } from '../../config/config.ts'
import { CommandError } from '../../lib/command.ts'
import { sha256 } from '../../lib/crypto/hash.ts'
import { AppError, type ErrorDetail, type NonDenialCode } from '../../lib/errors.ts'
import type { Log } from '../../lib/log/log.ts'
import { megabytes } from '../../lib/text/format.ts'
import { MINUTE_MS } from '../../lib/time/durations.ts'
import { readBody, readJson } from '../../platform/http/body/body.ts'
import { decodedHeader } from '../../platform/http/request/request-headers.ts'
import { readPath, readTarget } from '../../platform/http/request/request-url.ts'
import type { Services } from '../../server/services.ts'
import { currentUser, executeCommand, type ServiceCommand } from '../command.ts'
import { describeForOperator } from '../unavailable.ts'

type SocketReply =
  | { outcome: unknown }
  | { error: { code: NonDenialCode; message: string; details?: ErrorDetail[] } }

const NAME = 'homeport.sock'
/** Asks which data a command would destroy, without executing it. */
const RISK = '?risk'
/** Names the operator. It is trusted: only the user that runs the server can open the socket. */
const USER = 'operator-user'
/** The response of every server version to an unknown command. */
const UNKNOWN_COMMAND = 'no such command'
const MAX_INPUT_BYTES = 16 * 1024 * 1024

/** Executes commands sent over the socket, which only the user that runs the server can open. */
export async function serveCommands(services: Services, commands: ServiceCommand[], log: Log) {
  // Not disposed of: the path must stay valid until the socket is removed.
  const { path } = openSocketPath(services.config, NAME)
  // We hold the lock of the data directory, so an existing socket belongs to a killed server.
  await rm(path, { force: true })
  const server = Bun.serve({
    unix: path,
    maxRequestBodySize: MAX_INPUT_BYTES,
    async fetch(request, server) {
      // Some commands take minutes.
      server.timeout(request, 0)
      const command = commands.find(
        ({ name }) => readPath(request) === `/${encodeURIComponent(name)}`,
      )
      if (!command) return Response.json({ error: { code: 'not_found', message: UNKNOWN_COMMAND } })
      try {
        const input = readJson(await readBody(request, MAX_INPUT_BYTES))
        const part = readTarget(request).endsWith(RISK) ? 'risk' : 'work'
        const user = decodedHeader(request.headers.get(USER))
        const outcome =
          part === 'work'
            ? await executeCommand(command, services, input, user)
            : await command.risk?.(services, input)
        return Response.json({ outcome: outcome ?? null })
      } catch (error) {
        return Response.json({ error: toErrorReply(error, log) })
      }
    },
  })
  await chmod(path, 0o600)
  return server
}

export async function isServing(config: Config): Promise<boolean> {
  if (!existsSync(config.dataDir)) return false
  using socket = openSocketPath(config, NAME)
  if (!isOurSocket(socket.path)) return false
  const signal = AbortSignal.timeout(STATE_TIMEOUT_MS)
  return await fetch('http://localhost/', { unix: socket.path, signal }).then(
    () => true,
    // A server that hangs still uses the data.
    (error) => !isNotListening(error),
  )
}

/** For commands that only read the server's state, and must not wait for a server that hangs. */
export const STATE_TIMEOUT_MS = MINUTE_MS

/**
 * Executes a command in the server that uses the data, or describes its risk. Null if no server is running. `timeout`
 * is in ms. There is none by default, because a rebuild or a restart with a migration can take a long time.
 */
export async function sendToServer(
  config: Config,
  command: Pick<ServiceCommand, 'name'>,
  input: unknown,
  part: 'risk' | 'work',
  timeout: number | null = null,
): Promise<{ outcome: unknown } | null> {
  if (!existsSync(config.dataDir)) return null
  using socket = openSocketPath(config, NAME)
  const { path } = socket
  if (!isOurSocket(path)) return null
  const body = JSON.stringify(input ?? null)
  if (Buffer.byteLength(body) > MAX_INPUT_BYTES) {
    throw new CommandError(
      `The input of ${command.name} is larger than ${megabytes(MAX_INPUT_BYTES)}, the limit of a running server: stop the server first, or send less.`,
    )
  }
  let response: Response
  try {
    const target = encodeURIComponent(command.name) + (part === 'risk' ? RISK : '')
    response = await fetch(`http://localhost/${target}`, {
      unix: path,
      method: 'POST',
      headers: { [USER]: encodeURIComponent(currentUser()) },
      body,
      ...(timeout === null ? {} : { signal: AbortSignal.timeout(timeout) }),
      timeout: false,
    } as BunFetchRequestInit)
  } catch (error) {
    if (isNotListening(error)) return null
    const isHanging = (error as Error).name === 'TimeoutError'
    throw new AppError(
      'unavailable',
      isHanging
        ? 'The server did not respond within a minute: see its log, or restart it.'
        : 'The server did not finish the command: see its log.',
    )
  }
  const reply = (await response.json()) as SocketReply
  if ('outcome' in reply) return reply
  const { code, message, details } = reply.error
  if (code === 'not_found' && message === UNKNOWN_COMMAND) {
    throw new CommandError(
      `The running server is a different version that does not have "${command.name}": run "homeport restart", or use the server's own executable.`,
    )
  }
  throw new AppError(code, message, details ? { details } : {})
}

/** Ignores sockets of other users, who may have created one in a shared folder. */
function isOurSocket(path: string): boolean {
  if (!existsSync(path)) return false
  const { uid } = statSync(path)
  return uid === process.getuid?.()
}

function toErrorReply(error: unknown, log: Log) {
  if (error instanceof AppError) {
    const { code, details } = error
    return { code, message: describeForOperator(error), details }
  }
  log.error({ err: error }, 'a command failed')
  return { code: 'internal_error', message: "The command failed: the server's log says why." }
}

/** The operating system's limit for the path of a Unix socket. */
const MAX_PATH_BYTES = 107

/** The path of a socket in the data directory, shortened when it is too long. Valid until the result is disposed of. */
export function openSocketPath({ dataDir }: Config, name: string): { path: string } & Disposable {
  const path = join(dataDir, name)
  if (Buffer.byteLength(path) <= MAX_PATH_BYTES) return { path, [Symbol.dispose]() {} }
  if (process.platform !== 'linux') {
    // On macOS each user has their own temporary folder.
    const short = join(tmpdir(), `${sha256(dataDir, 'hex').slice(0, 16)}-${name}`)
    return { path: short, [Symbol.dispose]() {} }
  }
  const folder = openSync(dataDir, 'r')
  return { path: `/proc/self/fd/${folder}/${name}`, [Symbol.dispose]: () => closeSync(folder) }
}

/** Whether a process listens on the socket at `unix`. */
export async function isListening(unix: string): Promise<boolean> {
  const connection = await Bun.connect({ unix, socket: { data() {} } }).catch(() => null)
  connection?.end()
  return connection !== null
}

/** Whether a request over a socket failed because no process listens there, so that nothing was sent. */
export function isNotListening(error: unknown): boolean {
  const { code } = error as { code?: unknown }
  return /^(ConnectionRefused|FailedToOpenSocket|ENOENT|ECONNREFUSED)$/.test(String(code))
}
