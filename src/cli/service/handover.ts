import type { Config } from '../../config/config.ts'
import { dataCommand } from '../../lib/command.ts'
import { AppError, tryTo } from '../../lib/errors.ts'
import { MINUTE_MS } from '../../lib/time/durations.ts'
import type { Services } from '../../server/services.ts'
import { takeDataLock } from '../data/data-directory.ts'
import { assertSchemaChangeAllowed } from '../data/engine.ts'
import { schemaStatus } from '../data/migrate.ts'
import { assertNotMoved } from '../data/open-sqlite.ts'
import { programCommand } from '../processes/program-command.ts'
import { STATE_TIMEOUT_MS, sendToServer } from '../server/command-socket.ts'
import { type Next, startNext } from './stand-in.ts'

/** How long the next process waits for the data: requests in flight take up to ten seconds. */
const LOCK_TIMEOUT_MS = 30_000
const LOCK_RETRY_MS = 10
/** Leaves time to send the response before the server stops. */
const AFTER_REPLY_MS = 50
/** How often we ask whether the next process is serving yet. */
const SUCCESSOR_POLL_MS = 50

/** Migrating a large database takes a while. Less than the `TimeoutStartSec` of the systemd unit, which also limits a reload. */
export const START_TIMEOUT_MS = 14 * MINUTE_MS
/** The commands that the server answers over its socket. */
const SERVER_PROCESS = { name: 'server process' }
export const RESTART = { name: 'server restart' }
const HAND_OVER = { name: 'server hand-over' }

/** `takesBack`: the server serves again when the next process fails. Older versions report only `pid`. */
type ServerProcess = { pid: number; isServing?: boolean; takesBack?: boolean }

/**
 * The running server's part in a zero-downtime restart: the next process holds its requests, asks this server to stop,
 * then opens the data. `waitForSuccessor` resolves to whether that process is serving.
 */
export function createHandover(config: Config) {
  const { promise: requested, resolve } = Promise.withResolvers<'handover'>()
  const common = { summary: 'Used by restart', print: () => '' }
  let isServing = false
  let successor: number | null = null
  /** The process that `restart` waits for. It becomes the successor once it asks for the data. */
  let starting: number | null = null
  let next: Next | null = null
  return {
    /** How the successor ends; null if another process has started it. */
    successorExit: () => (next !== null && next.pid === successor ? next.exited : null),
    requested,
    markServing,
    waitForSuccessor,
    commands: [
      dataCommand({ ...SERVER_PROCESS, ...common, work: async (_: Services) => describeSelf() }),
      dataCommand({ ...RESTART, ...common, work: async (_: Services) => restart() }),
      dataCommand({
        ...HAND_OVER,
        ...common,
        work: async (_: Services, next: { pid: number } | null) => handOver(next),
      }),
    ],
  }

  function describeSelf(): ServerProcess {
    return { pid: process.pid, isServing, takesBack: true }
  }

  function markServing() {
    isServing = true
  }

  /** Starts the next process. Returns its id once it takes over. Two at once would both wait for the data. */
  async function restart() {
    if (starting !== null)
      throw new AppError('conflict', `A restart is in progress: process ${starting} is starting.`)
    starting = 0
    next = await startOrThrow(config).catch((error) => {
      starting = null
      throw error
    })
    const { pid, exited } = next
    starting = pid
    successor = pid
    let isTooLate = false
    const timeout = setTimeout(() => {
      isTooLate = true
      process.kill(pid, 'SIGKILL')
    }, START_TIMEOUT_MS)
    const outcome = await Promise.race([requested, exited])
    clearTimeout(timeout)
    if (outcome === 'handover') return { pid }
    starting = null
    const end = isTooLate
      ? `was not serving after ${START_TIMEOUT_MS / MINUTE_MS} minutes and was killed: see the log.`
      : `exited with code ${outcome}: the log says why.`
    throw new AppError(
      'unavailable',
      `The new process ${end} The old one (process ${process.pid}) keeps serving. Fix the cause and run "homeport restart" again.`,
    )
  }

  function handOver(requester: { pid: number } | null) {
    successor = requester?.pid ?? successor
    setTimeout(() => resolve('handover'), AFTER_REPLY_MS)
    return describeSelf()
  }

  /** Waits until the next process is serving or has exited. Returns whether it is serving. */
  async function waitForSuccessor(): Promise<boolean> {
    while (successor !== null) {
      const serving = await findServer(config)
      if (serving !== null && serving.isServing !== false) return true
      if (!isAlive(successor)) return false
      await Bun.sleep(SUCCESSOR_POLL_MS)
    }
    // An older version does not report its process id, so we cannot tell whether it has exited.
    return true
  }
}

/** The server that uses the data; null when none responds. */
export async function findServer(config: Config): Promise<ServerProcess | null> {
  const reply = await sendToServer(config, SERVER_PROCESS, null, 'work', STATE_TIMEOUT_MS).catch(
    () => null,
  )
  return (reply?.outcome as ServerProcess | undefined) ?? null
}

/** Throws `CommandError` when this process could not open the data that another one still uses. */
export async function requireOpenable(config: Config) {
  await assertNotMoved(config)
  const { applied, known } = await schemaStatus(config)
  assertSchemaChangeAllowed('migrate', applied, known.length)
}

/** Returns once the data is free. Calls `onAccepted` when the running server agrees to hand over. */
export async function takeOver(config: Config, onAccepted = () => {}) {
  const reply = await sendToServer(
    config,
    HAND_OVER,
    { pid: process.pid },
    'work',
    STATE_TIMEOUT_MS,
  )
  if (reply === null) return
  onAccepted()
  for (let waited = 0; waited < LOCK_TIMEOUT_MS; waited += LOCK_RETRY_MS) {
    using lock = takeDataLock(config.dataDir)
    if (lock !== null) return
    await Bun.sleep(LOCK_RETRY_MS)
  }
}

export function isAlive(pid: number): boolean {
  return tryTo(() => process.kill(pid, 0)) === true
}

async function startOrThrow(config: Config): Promise<Next> {
  try {
    return await startNext(nextCommand(), config)
  } catch (cause) {
    const { code } = cause as { code?: string }
    throw new AppError(
      'unavailable',
      `The new process could not be started (${code}): replace ${process.execPath} with a homeport executable for this machine. The old one (process ${process.pid}) keeps serving.`,
      { cause },
    )
  }
}

/** The command line of this server, with the executable that is installed now. */
function nextCommand(): string[] {
  const flags = process.argv.slice(2).filter((arg) => arg !== 'serve' && arg !== '--takeover')
  return programCommand('serve', ...flags, '--takeover')
}
