import type { Config } from '../config.ts'
import { dataCommand } from '../lib/command.ts'
import type { Services } from '../server/services.ts'
import { askServer } from './command-socket.ts'

/** What the server was started with, for its own user alone. */
export const configCommand = dataCommand({
  name: 'server configuration',
  summary: 'What backup and doctor ask the server for',
  work: async ({ config }: Services) => config,
  print: () => '',
})

/**
 * The configuration of the server that runs on the data, else that of this terminal; where backups go and what they
 * are encrypted with may be said here in any case.
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
