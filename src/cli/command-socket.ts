import { closeSync, existsSync, openSync, statSync } from 'node:fs'
import { chmod, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Config } from '../config.ts'
import { CommandError } from '../lib/command.ts'
import { sha256 } from '../lib/crypto.ts'
import { AppError, type ErrorDetail, type UndeniedCode } from '../lib/errors.ts'
import type { Log } from '../lib/log.ts'
import { readBody, readJson } from '../platform/http/body.ts'
import { decodedHeader } from '../platform/http/request-headers.ts'
import { pathOf, targetOf } from '../platform/http/request-url.ts'
import type { Services } from '../server/services.ts'
import { carryOut, currentUser, type ServiceCommand } from './command.ts'

/** What the server answers to a command over its socket. */
type Answer =
  | { outcome: unknown }
  | { error: { code: UndeniedCode; message: string; details?: ErrorDetail[] } }

const NAME = 'homeport.sock'
/** Asks what a command would lose, instead of for the work. */
const RISK = '?risk'
/** Says who types; only our own user can open the socket. */
const USER = 'operator-user'
/** What servers of every version say to a command that they lack. */
const UNKNOWN_COMMAND = 'no such command'
const INPUT_LIMIT = 16 * 1024 * 1024

/** Carries out commands that come over the socket, which only our own user can open. */
export async function serveCommands(services: Services, commands: ServiceCommand[], log: Log) {
  // It stays open: the socket is removed under the same name.
  const { path } = openSocketPath(services.config, NAME)
  // We hold the lock of the data directory, so a socket that is there is of a server that was killed.
  await rm(path, { force: true })
  const server = Bun.serve({
    unix: path,
    maxRequestBodySize: INPUT_LIMIT,
    async fetch(request) {
      const command = commands.find(
        ({ name }) => pathOf(request) === `/${encodeURIComponent(name)}`,
      )
      if (!command) return Response.json({ error: { code: 'not_found', message: UNKNOWN_COMMAND } })
      try {
        const input = readJson(await readBody(request, INPUT_LIMIT))
        const part = targetOf(request).endsWith(RISK) ? 'risk' : 'work'
        const user = decodedHeader(request.headers.get(USER))
        const outcome =
          part === 'work'
            ? await carryOut(command, services, input, user)
            : await command.risk?.(services, input)
        return Response.json({ outcome: outcome ?? null })
      } catch (error) {
        return Response.json({ error: asAnswer(error, log) })
      }
    },
  })
  await chmod(path, 0o600)
  return server
}

/** Whether a server carries out commands for this data directory. */
export async function isServing(config: Config): Promise<boolean> {
  if (!existsSync(config.dataDir)) return false
  using socket = openSocketPath(config, NAME)
  if (!isOurSocket(socket.path)) return false
  return await fetch('http://localhost/', { unix: socket.path }).then(
    () => true,
    () => false,
  )
}

/** Sends a part of a command to the server that holds the data; null when none answers. */
export async function askServer(
  config: Config,
  command: Pick<ServiceCommand, 'name'>,
  input: unknown,
  part: 'risk' | 'work',
): Promise<{ outcome: unknown } | null> {
  if (!existsSync(config.dataDir)) return null
  using socket = openSocketPath(config, NAME)
  const { path } = socket
  if (!isOurSocket(path)) return null
  let response: Response
  try {
    const target = encodeURIComponent(command.name) + (part === 'risk' ? RISK : '')
    response = await fetch(`http://localhost/${target}`, {
      unix: path,
      method: 'POST',
      headers: { [USER]: encodeURIComponent(currentUser()) },
      body: JSON.stringify(input ?? null),
      signal: AbortSignal.timeout(10 * 60_000),
    })
  } catch (error) {
    if (isNobodyThere(error)) return null
    throw new AppError('unavailable', 'The server did not finish the command: see its log.')
  }
  const answer = (await response.json()) as Answer
  if ('outcome' in answer) return answer
  const { code, message, details } = answer.error
  if (code === 'not_found' && message === UNKNOWN_COMMAND) {
    throw new CommandError(
      `The running server is another version, which does not know "${command.name}": run "homeport restart", or use its own file.`,
    )
  }
  throw new AppError(code, message, details ? { details } : {})
}

/** Nobody else's socket is spoken to: in a shared folder anybody could have put one there. */
function isOurSocket(path: string): boolean {
  if (!existsSync(path)) return false
  const { uid } = statSync(path)
  return uid === process.getuid?.()
}

function asAnswer(error: unknown, log: Log) {
  if (error instanceof AppError) {
    const { code, message, details } = error
    return { code, message, details }
  }
  log.error({ err: error }, 'a command failed')
  return { code: 'internal_error', message: 'The command failed: the log of the server says why.' }
}

/** The path of a unix socket has 107 bytes at most. */
const PATH_LIMIT = 107

/** Where a socket of the data directory is. That has a short name for as long as it is open. */
export function openSocketPath({ dataDir }: Config, name: string): { path: string } & Disposable {
  const path = join(dataDir, name)
  if (Buffer.byteLength(path) <= PATH_LIMIT) return { path, [Symbol.dispose]() {} }
  if (process.platform !== 'linux') {
    // macOS gives each user a temporary folder of their own.
    const short = join(tmpdir(), `${sha256(dataDir, 'hex').slice(0, 16)}-${name}`)
    return { path: short, [Symbol.dispose]() {} }
  }
  const folder = openSync(dataDir, 'r')
  return { path: `/proc/self/fd/${folder}/${name}`, [Symbol.dispose]: () => closeSync(folder) }
}

/** Whether a request over a socket failed because no process listens there: nothing has been sent. */
export function isNobodyThere(error: unknown): boolean {
  const { code } = error as { code?: unknown }
  return /^(ConnectionRefused|FailedToOpenSocket|ENOENT|ECONNREFUSED)$/.test(String(code))
}
