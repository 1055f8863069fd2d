import { CommandError, EXIT } from '../lib/command.ts'
import { createLog } from '../lib/log.ts'
import type { LocalCommand } from './command.ts'
import { isServing } from './command-socket.ts'
import { openData } from './open-data.ts'

export const init: LocalCommand = {
  name: 'init',
  summary: 'Create the data directory: database, initial content and secrets',
  options: [['--new-secrets', 'replace lost or damaged secrets and report what that breaks']],
  run: async (config, { newSecrets, json }) => {
    const chosen = config()
    const { dataDir } = chosen
    if (await isServing(chosen)) {
      if (newSecrets) throw new CommandError(`another homeport is using ${dataDir}: stop it first`)
      report([])
      return EXIT.done
    }
    // Without secrets no other command opens the data, so "migrate" could not run first.
    const schema = newSecrets ? 'migrate' : 'create'
    const options = { newSecrets: !!newSecrets, schema } as const
    await using data = await openData(chosen, createLog('error'), {}, options)
    report(data.newSecrets)
    return EXIT.done

    function report(made: { name: string; breaks: string }[]) {
      if (json) console.log(JSON.stringify({ dataDir, newSecrets: made }))
      else {
        for (const { name, breaks } of made) console.log(`New ${name}: ${breaks}.`)
        console.log(`${dataDir} is ready.`)
      }
    }
  },
}
