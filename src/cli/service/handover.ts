import { join } from 'node:path'
import type { Config } from '../../config.ts'
import { dataCommand } from '../../lib/command.ts'
import { AppError } from '../../lib/errors.ts'
import { takeLock } from '../../platform/db/sqlite/lock.ts'
import type { Services } from '../../server/services.ts'
import { askServer } from '../command-socket.ts'
import { refuseSchema } from '../engine.ts'
import { schemaStatus } from '../migrate.ts'
import { refuseMoved } from '../open-sqlite.ts'
import { programCommand } from '../processes/program-command.ts'

/** Requests in flight may take ten seconds: for so long the next process waits for the data, in ms. */
const LOCK_TIMEOUT = 30_000
const LOCK_RETRY = 10
/** The reply to the next process goes out before the server does, in ms. */
const AFTER_REPLY = 50

/** While the next process opens the data, it is asked this often whether it serves, in ms. */
const SUCCESSOR_POLL = 50

/** What is asked of the server over its socket. */
const WHO_SERVES = { name: 'server process' }
export const RESTART = { name: 'server restart' }
const HAND_OVER = { name: 'server hand-over' }

/** What a server says of itself; `takesBack`: it serves again when the next process fails. Older ones say only `pid`. */
type ServerProcess = { pid: number; isServing?: boolean; takesBack?: boolean }

/**
 * The server's part when the next process takes its place: that one takes requests and keeps them waiting, asks this
 * one to finish its own and to go, and then has the data. `requested` resolves when it asks, `isServed` tells
 * later whether it serves.
 */
export function createHandover(config: Config) {
  const { promise: requested, resolve } = Promise.withResolvers<'handover'>()
  const common = { summary: 'What restart asks the server for', print: () => '' }
  let isServing = false
  let successor: number | null = null
  return {
    requested,
    markServing,
    isServed,
    commands: [
      dataCommand({ ...WHO_SERVES, ...common, work: async (_: Services) => own() }),
      dataCommand({ ...RESTART, ...common, work: async (_: Services) => restart() }),
      dataCommand({
        ...HAND_OVER,
        ...common,
        work: async (_: Services, next: { pid: number } | null) => handOver(next),
      }),
    ],
  }

  function own(): ServerProcess {
    return { pid: process.pid, isServing, takesBack: true }
  }

  /** Nothing can keep this process from serving any more. */
  function markServing() {
    isServing = true
  }

  /** Starts the next process, and tells its id once it takes over. */
  async function restart() {
    const next = spawnNext()
    successor = next.pid
    const outcome = await Promise.race([requested, next.exited])
    next.unref()
    if (outcome === 'handover') return { pid: next.pid }
    throw new AppError(
      'unavailable',
      `The new process ended with exit code ${outcome}: the log says why. The old one (process ${process.pid}) serves on. Mend the cause and run "homeport restart" again.`,
    )
  }

  function handOver(next: { pid: number } | null) {
    successor = next?.pid ?? successor
    setTimeout(() => resolve('handover'), AFTER_REPLY)
    return own()
  }

  /** Waits until the next process serves, or has ended without. */
  async function isServed(): Promise<boolean> {
    while (successor !== null) {
      const serving = await findServer(config)
      if (serving !== null && serving.isServing !== false) return true
      if (!isAlive(successor)) return false
      await Bun.sleep(SUCCESSOR_POLL)
    }
    // An older program has not said who it is.
    return true
  }
}

/** The server that has the data; null when none answers. */
export async function findServer(config: Config): Promise<ServerProcess | null> {
  const answer = await askServer(config, WHO_SERVES, null, 'work').catch(() => null)
  return (answer?.outcome as ServerProcess | undefined) ?? null
}

/** Throws `CommandError` where this process could not open the data that another one still has. */
export async function proveOpenable(config: Config) {
  await refuseMoved(config)
  const { applied, known } = await schemaStatus(config)
  refuseSchema('migrate', applied, known.length)
}

/** The next process's part: returns when the data is free. Nothing happens where nobody serves. */
export async function takeOver(config: Config) {
  const answer = await askServer(config, HAND_OVER, { pid: process.pid }, 'work')
  if (answer === null) return
  for (let waited = 0; waited < LOCK_TIMEOUT; waited += LOCK_RETRY) {
    using lock = takeLock(join(config.dataDir, 'homeport.lock'))
    if (lock !== null) return
    await Bun.sleep(LOCK_RETRY)
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

function spawnNext() {
  try {
    return Bun.spawn(nextCommand(), { stdio: ['ignore', 'inherit', 'inherit'] })
  } catch (cause) {
    const { code } = cause as { code?: string }
    throw new AppError(
      'unavailable',
      `${process.execPath} cannot be started (${code}): put a homeport of this machine there. The old one (process ${process.pid}) serves on.`,
      { cause },
    )
  }
}

/** The command line of this server again, of the file that is there now. */
function nextCommand(): string[] {
  const flags = process.argv.slice(2).filter((arg) => arg !== 'serve' && arg !== '--takeover')
  return programCommand('serve', ...flags, '--takeover')
}
