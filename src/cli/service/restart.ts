import type { Config } from '../../config.ts'
import { CommandError, EXIT } from '../../lib/command.ts'
import type { LocalCommand } from '../command.ts'
import { askServer } from '../command-socket.ts'
import { findServer, isAlive, RESTART } from './handover.ts'

/** Migrating a large database takes a while. */
const TIMEOUT = 120_000
const RETRY = 50

export const restart: LocalCommand = {
  name: 'restart',
  summary: 'Replace the running server by the file that is there now; no request is refused',
  options: [['--data-dir <path>', 'wins over DATA_DIR']],
  run: async (given, { json }) => {
    const config = given()
    const { pid } = await restartServer(config)
    console.log(json ? JSON.stringify({ pid }) : `Process ${pid} serves now.`)
    return EXIT.done
  },
}

/** Has the server replaced by the file that is there now, and waits until that one serves. Throws when it does not. */
export async function restartServer(config: Config): Promise<{ pid: number }> {
  const before = await findServer(config)
  const answer = await askServer(config, RESTART, null, 'work')
  if (answer === null) throw new CommandError(`No server runs on ${config.dataDir}.`)
  const { pid } = answer.outcome as { pid: number }
  const isWaiting = () => isAlive(pid) || (before?.takesBack === true && isAlive(before.pid))
  for (let waited = 0; waited < TIMEOUT && isWaiting(); waited += RETRY) {
    const serving = await findServer(config)
    if (serving !== null && serving.isServing !== false) {
      if (serving.pid === pid) return { pid }
      if (!isAlive(pid)) throw new CommandError(describeTakenBack(pid, serving.pid))
    }
    await Bun.sleep(RETRY)
  }
  throw new CommandError(
    isAlive(pid)
      ? `Process ${pid} does not serve yet: its log says why. Requests wait for it; "homeport health" tells when it serves.`
      : `Process ${pid} ended before it served, and no server runs now: its log says why. Mend that and start the server.`,
  )
}

function describeTakenBack(next: number, old: number): string {
  return `Process ${next} ended before it served: its log says why. The old one (process ${old}) serves again. Mend the cause and run "homeport restart" again.`
}
