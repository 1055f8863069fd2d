import { dataCommand } from '../lib/command.ts'
import type { Services } from '../server/services.ts'
import { EXIT, type LocalCommand } from './command.ts'
import { askServer } from './command-socket.ts'

/** What `/ready` says, over the socket of the data directory: a port may be that of another server. */
export const readinessCommand = dataCommand({
  name: 'readiness',
  summary: 'What health asks the server for',
  work: ({ readiness }: Services) => readiness(),
  print: (parts) =>
    Object.entries(parts)
      .map(([name, state]) => `${name} ${state}`)
      .join(', '),
})

export const health: LocalCommand = {
  name: 'health',
  summary: 'Ask the server of DATA_DIR whether it is ready, as /ready says: exit 0 or 1',
  run: async (config, { json }) => {
    const answer = await askServer(config(), readinessCommand, null, 'work')
    if (answer === null) {
      if (json) console.log(JSON.stringify({ server: 'not running' }))
      process.stderr.write(`No server runs on ${config().dataDir}.\n`)
      return EXIT.failed
    }
    const parts = answer.outcome as Awaited<ReturnType<Services['readiness']>>
    console.log(json ? JSON.stringify(parts) : readinessCommand.print(parts as never))
    return parts.database === 'ok' && parts.storage === 'ok' ? EXIT.done : EXIT.failed
  },
}
