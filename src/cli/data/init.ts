import { CommandError } from '../../lib/command.ts'
import { createLog } from '../../lib/log/log.ts'
import { localCommand } from '../command.ts'
import { isServing } from '../server/command-socket.ts'
import { openData } from './open-data.ts'

export const init = localCommand({
  name: 'init',
  summary: 'Create the data directory: database, initial content and secrets',
  options: [['--new-secrets', 'replace lost or damaged secrets and report what stops working']],
  work: async (loadConfig, { newSecrets }) => {
    const config = loadConfig()
    const { dataDir } = config
    if (await isServing(config)) {
      if (newSecrets)
        throw new CommandError(`Another Homeport process is using ${dataDir}: stop it first.`)
      return { dataDir, newSecrets: [] }
    }
    // Without secrets no other command opens the data, so "migrate" could not run first.
    const schema = newSecrets ? 'migrate' : 'create'
    const options = { newSecrets: !!newSecrets, schema } as const
    await using data = await openData(config, createLog('error'), {}, options)
    return { dataDir, newSecrets: data.newSecrets }
  },
  print: ({ dataDir, newSecrets }) =>
    [
      ...newSecrets.map(({ name, breaks }) => `New ${name}: ${breaks}.`),
      `${dataDir} is ready.`,
    ].join('\n'),
})
