import type { Config } from '../config.ts'
import { dataCommand } from '../lib/command.ts'
import type { Services } from '../server/services.ts'
import { askServer } from './command-socket.ts'

/** The server's configuration, for its own user only. */
export const configCommand = dataCommand({
  name: 'server configuration',
  summary: 'Used by backup and doctor',
  work: async ({ config }: Services) => config,
  print: () => '',
})

/**
 * The configuration of the server that uses the data, else that of this terminal. The folder and the key of backups may
 * be set in the terminal in both cases.
 */
export async function effectiveConfig(own: Config): Promise<Config> {
  const answer = await askServer(own, configCommand, null, 'work')
  if (!answer) return own
  const served = answer.outcome as Config
  return {
    ...own,
    ...served,
    backupKey: own.backupKey ?? served.backupKey,
    backupDir: own.backupDir ?? served.backupDir,
  }
}
