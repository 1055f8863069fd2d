import type { Config } from '../../config/config.ts'
import { CommandError } from '../../lib/command.ts'
import { MINUTE_MS } from '../../lib/time/durations.ts'
import { localCommand } from '../command.ts'
import { requireOwnDirectory } from '../data/data-directory.ts'
import { sendToServer } from '../server/command-socket.ts'
import { findServer, isAlive, RESTART, START_TIMEOUT_MS } from './handover.ts'

/** A restart that takes longer prints a notice that points to the log. */
const NOTICE_MS = 2 * MINUTE_MS
const RETRY_MS = 50
/** How long the old process may take to serve again. */
const FALLBACK_MS = 60_000

export const restart = localCommand({
  name: 'restart',
  summary: 'Restart the running server with the installed executable, without downtime',
  options: [['--data-dir <path>', 'overrides DATA_DIR']],
  work: async (loadConfig) => restartServer(loadConfig()),
  print: ({ pid }) => `Process ${pid} is serving now.`,
})

/**
 * Restarts with the installed executable. Throws unless the new process serves, and kills it after `killAfter` ms.
 */
export async function restartServer(config: Config, killAfter = START_TIMEOUT_MS) {
  const before = await findServer(config)
  const reply = await sendToServer(config, RESTART, null, 'work')
  if (reply === null) {
    await requireOwnDirectory(config)
    throw new CommandError(`No server is running on ${config.dataDir}.`)
  }
  const { pid } = reply.outcome as { pid: number }
  const isWaiting = () => isAlive(pid) || (before?.takesBack === true && isAlive(before.pid))
  const startedAt = performance.now()
  let hasNotified = false
  for (;;) {
    const waited = performance.now() - startedAt
    if (waited > killAfter + FALLBACK_MS || !isWaiting()) break
    const serving = await findServer(config)
    if (serving !== null && serving.isServing !== false) {
      if (serving.pid === pid) return { pid }
      if (!isAlive(pid)) throw new CommandError(describeFallback(pid, serving.pid))
    }
    if (waited > NOTICE_MS && !hasNotified) {
      console.error(`Process ${pid} is not serving yet: see its log.`)
      hasNotified = true
    }
    if (waited >= killAfter) kill(pid)
    await Bun.sleep(RETRY_MS)
  }
  throw new CommandError(
    `Process ${pid} exited before it was serving, and no server is running now: its log says why. Fix that and start the server.`,
  )
}

/** Kills a process that may have exited in the meantime. */
function kill(pid: number) {
  try {
    process.kill(pid, 'SIGKILL')
  } catch {}
}

function describeFallback(next: number, old: number): string {
  return `Process ${next} exited before it was serving: its log says why. The old one (process ${old}) is serving again. Fix the cause and run "homeport restart" again.`
}
