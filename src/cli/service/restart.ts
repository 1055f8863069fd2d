import type { Config } from '../../config.ts'
import { EXIT, type LocalCommand } from '../command.ts'
import { askServer } from '../command-socket.ts'
import { DataError } from '../data-error.ts'
import { RESTART, WHO_SERVES } from './handover.ts'

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
  const answer = await askServer(config, RESTART, null, 'work')
  if (answer === null) throw new DataError(`No server runs on ${config.dataDir}.`)
  const { pid } = answer.outcome as { pid: number }
  for (let waited = 0; waited < TIMEOUT; waited += RETRY) {
    const serving = await askServer(config, WHO_SERVES, null, 'work').catch(() => null)
    if ((serving?.outcome as { pid: number } | undefined)?.pid === pid) return { pid }
    if (!isAlive(pid)) break
    await Bun.sleep(RETRY)
  }
  throw new DataError(`Process ${pid} does not serve: its log says why.`)
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
