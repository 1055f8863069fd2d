import { CommandError, EXIT } from '../lib/command.ts'
import { createLog } from '../lib/log.ts'
import type { LocalCommand } from './command.ts'
import { isServing } from './command-socket.ts'
import { openData } from './open-data.ts'

export const init: LocalCommand = {
  name: 'init',
  summary: 'Make the data directory: database, first content and secrets',
  options: [
    ['--new-secrets', 'replace lost or damaged secrets by new ones and say what that breaks'],
  ],
  run: async (config, { newSecrets, json }) => {
    const chosen = config()
    const { dataDir } = chosen
    if (await isServing(chosen)) {
      if (newSecrets) throw new CommandError(`another homeport is using ${dataDir}: stop it first`)
      say([])
      return EXIT.done
    }
    // Without secrets nothing else opens the data, so that "migrate" could not go first.
    const schema = newSecrets ? 'migrate' : 'create'
    const options = { newSecrets: !!newSecrets, schema } as const
    await using data = await openData(chosen, createLog('error'), {}, options)
    say(data.newSecrets)
    return EXIT.done

    function say(made: { name: string; breaks: string }[]) {
      if (json) console.log(JSON.stringify({ dataDir, newSecrets: made }))
      else {
        for (const { name, breaks } of made) console.log(`New ${name}: ${breaks}.`)
        console.log(`${dataDir} is ready.`)
      }
    }
  },
}
