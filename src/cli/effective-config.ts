import type { Config } from '../config.ts'
import { dataCommand } from '../lib/command.ts'
import type { Services } from '../server/services.ts'
import { askServer } from './command-socket.ts'

/** The server's configuration. Only the user that runs the server can read it. */
export const configCommand = dataCommand({
  name: 'server configuration',
  summary: 'Used by backup and doctor',
  work: async ({ config }: Services) => config,
  print: () => '',
})

/**
 * The configuration of the server that uses the data, or else of this process. In both cases the environment of this
 * process may set the backup folder and key.
 */
export async function effectiveConfig(localConfig: Config): Promise<Config> {
  const answer = await askServer(localConfig, configCommand, null, 'work')
  if (!answer) return localConfig
  const served = answer.outcome as Config
  return {
    ...localConfig,
    ...served,
    backupKey: localConfig.backupKey ?? served.backupKey,
    backupDir: localConfig.backupDir ?? served.backupDir,
  }
}
