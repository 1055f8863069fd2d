import { join } from 'node:path'
import type { Config } from '../../config.ts'
import { takeLock } from '../../db/sqlite/lock.ts'
import { dataCommand } from '../../lib/command.ts'
import { AppError } from '../../lib/errors.ts'
import type { Services } from '../../services.ts'
import { askServer } from '../command-socket.ts'
import { programCommand } from '../self-command.ts'

/** Requests in flight may take ten seconds: for so long the next process waits for the data, in ms. */
const LOCK_TIMEOUT = 30_000
const LOCK_RETRY = 10
/** The reply to the next process goes out before the server does, in ms. */
const AFTER_REPLY = 50

/** What is asked of the server over its socket. */
export const WHO_SERVES = { name: 'server process' }
export const RESTART = { name: 'server restart' }
const HAND_OVER = { name: 'server hand-over' }

/**
 * The server's part when the next process takes its place: that one takes requests and keeps them waiting, asks this
 * one to finish its own and to go, and then has the data. `requested` resolves when it asks.
 */
export function createHandover() {
  const { promise: requested, resolve } = Promise.withResolvers<'handover'>()
  const common = { summary: 'What restart asks the server for', print: () => '' }
  return {
    requested,
    commands: [
      dataCommand({ ...WHO_SERVES, ...common, work: async (_: Services) => own() }),
      dataCommand({ ...RESTART, ...common, work: async (_: Services) => restart() }),
      dataCommand({ ...HAND_OVER, ...common, work: async (_: Services) => handOver() }),
    ],
  }

  function own() {
    return { pid: process.pid }
  }

  /** Starts the next process, and tells its id once it takes over. */
  async function restart() {
    const next = spawnNext()
    const outcome = await Promise.race([requested, next.exited])
    next.unref()
    if (outcome === 'handover') return { pid: next.pid }
    throw new AppError(
      'unavailable',
      `The new process ended with exit code ${outcome} and the log says why. The old one serves on.`,
    )
  }

  function handOver() {
    setTimeout(() => resolve('handover'), AFTER_REPLY)
    return own()
  }
}

/** The next process's part: returns when the data is free. Nothing happens where nobody serves. */
export async function takeOver(config: Config) {
  if ((await askServer(config, HAND_OVER, null, 'work')) === null) return
  for (let waited = 0; waited < LOCK_TIMEOUT; waited += LOCK_RETRY) {
    using lock = takeLock(join(config.dataDir, 'homeport.lock'))
    if (lock !== null) return
    await Bun.sleep(LOCK_RETRY)
  }
}

function spawnNext() {
  try {
    return Bun.spawn(nextCommand(), { stdio: ['ignore', 'inherit', 'inherit'] })
  } catch (cause) {
    const { code } = cause as { code?: string }
    throw new AppError('unavailable', `${process.execPath} cannot be started (${code}).`, { cause })
  }
}

/** The command line of this server again, of the file that is there now. */
function nextCommand(): string[] {
  const flags = process.argv.slice(2).filter((arg) => arg !== 'serve' && arg !== '--takeover')
  return programCommand('serve', ...flags, '--takeover')
}
