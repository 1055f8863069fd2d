import { EXIT, type LocalCommand } from '../command.ts'
import { askServer } from '../command-socket.ts'
import { processCommand, restartCommand } from './handover.ts'

/** Migrating a large database takes a while. */
const TIMEOUT = 120_000
const RETRY = 50

export const restart: LocalCommand = {
  name: 'restart',
  summary: 'Replace the running server by the file that is there now; no request is refused',
  options: [['--data-dir <path>', 'wins over DATA_DIR']],
  run: async (given, { json }) => {
    const config = given()
    const answer = await askServer(config, restartCommand, null, 'work')
    if (answer === null) return say(`No server runs on ${config.dataDir}.`)
    const { pid } = answer.outcome as { pid: number }
    for (let waited = 0; waited < TIMEOUT; waited += RETRY) {
      const serving = await askServer(config, processCommand, null, 'work').catch(() => null)
      if ((serving?.outcome as { pid: number } | undefined)?.pid === pid) {
        console.log(json ? JSON.stringify({ pid }) : `Process ${pid} serves now.`)
        return EXIT.done
      }
      await Bun.sleep(RETRY)
    }
    return say(`Process ${pid} does not serve yet: see its log.`)
  },
}

function say(sentence: string): number {
  process.stderr.write(`${sentence}\n`)
  return EXIT.failed
}
