import type { Config } from '../config/config.ts'
import { dataCommand } from '../lib/command.ts'
import type { Services } from '../server/services.ts'
import { STATE_TIMEOUT_MS, sendToServer } from './server/command-socket.ts'

/** The server's configuration. Only the user that runs the server can read it. */
export const configCommand = dataCommand({
  name: 'server configuration',
  summary: 'Used by backup and doctor',
  work: async ({ config }: Services) => config,
  print: () => '',
})

/** The running server's configuration, or our own if none is running. Our backup location and key take precedence. */
export async function effectiveConfig(localConfig: Config): Promise<Config> {
  const reply = await sendToServer(localConfig, configCommand, null, 'work', STATE_TIMEOUT_MS)
  if (!reply) return localConfig
  const serverConfig = reply.outcome as Config
  return {
    ...localConfig,
    ...serverConfig,
    backupKey: localConfig.backupKey ?? serverConfig.backupKey,
    ...(localConfig.backupDir && {
      backupDir: localConfig.backupDir,
      backupS3: localConfig.backupS3,
    }),
  }
}
