import { CommandError, EXIT } from '../../lib/command.ts'
import { createLog } from '../../lib/log/log.ts'
import type { LocalCommand } from '../command.ts'
import { isServing } from '../server/command-socket.ts'
import { writeOutput } from '../terminal.ts'
import { openData } from './open-data.ts'

export const init: LocalCommand = {
  name: 'init',
  summary: 'Create the data directory: database, initial content and secrets',
  options: [['--new-secrets', 'replace lost or damaged secrets and report what stops working']],
  run: async (loadConfig, { newSecrets, json }) => {
    const config = loadConfig()
    const { dataDir } = config
    if (await isServing(config)) {
      if (newSecrets)
        throw new CommandError(`Another Homeport process is using ${dataDir}: stop it first.`)
      report([])
      return EXIT.done
    }
    // Without secrets no other command opens the data, so "migrate" could not run first.
    const schema = newSecrets ? 'migrate' : 'create'
    const options = { newSecrets: !!newSecrets, schema } as const
    await using data = await openData(config, createLog('error'), {}, options)
    report(data.newSecrets)
    return EXIT.done

    function report(replaced: { name: string; breaks: string }[]) {
      if (json) writeOutput(JSON.stringify({ dataDir, newSecrets: replaced }))
      else {
        for (const { name, breaks } of replaced) writeOutput(`New ${name}: ${breaks}.`)
        writeOutput(`${dataDir} is ready.`)
      }
    }
  },
}
